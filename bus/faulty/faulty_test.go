package faulty

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/bus"
)

// listen returns a connection with faults, and the messages that the bus delivers.
func listen(t *testing.T, rates Rates) (*Conn, *[]string) {
	t.Helper()
	m, got := bus.NewMemory(), &[]string{}
	if _, err := m.Dial().Subscribe("a", func(_ string, data []byte) { *got = append(*got, string(data)) }); err != nil {
		t.Fatal(err)
	}
	return Wrap(m.Dial(), rates, 1), got
}

// publish publishes the numbers from from up to to.
func publish(t *testing.T, c *Conn, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		data := []byte(fmt.Sprint(i))
		if err := c.Publish("a", data); err != nil {
			t.Fatal(err)
		}
		clear(data) // it is the caller's again
	}
}

// Each fault has its effect and is counted.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		rates Rates
		want  []string
		count Counts
	}{
		"none":   {Rates{}, []string{"0", "1", "2", "3"}, Counts{}},
		"drop":   {Rates{Drop: 1}, nil, Counts{Dropped: 4}},
		"repeat": {Rates{Repeat: 1}, []string{"0", "0", "1", "1", "2", "2", "3", "3"}, Counts{Repeated: 4}},
	} {
		c, got := listen(t, test.rates)
		publish(t, c, 0, 4)
		if diff := cmp.Diff(test.want, append([]string(nil), *got...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.count, c.Counts()); diff != "" {
			t.Errorf("%s: counts (-want +got):\n%s", name, diff)
		}
	}
}

// A connection without faults again publishes the delayed messages and adds no fault.
func TestImpairmentEnds(t *testing.T) {
	c, got := listen(t, Rates{Delay: 1})
	const all = 4 * MaxDelay
	publish(t, c, 0, all)
	if n := all - len(*got); n < 1 || n > MaxDelay+1 {
		t.Errorf("%d of %d are delayed, want 1 to %d", n, all, MaxDelay+1)
	}
	c.Impair(Rates{}, 0)
	seen := map[string]bool{}
	for _, s := range *got {
		seen[s] = true
	}
	if len(*got) != all || len(seen) != all {
		t.Errorf("%d messages, %d different ones, want %d", len(*got), len(seen), all)
	}
	publish(t, c, all, all+2)
	if diff := cmp.Diff([]string{strconv.Itoa(all), strconv.Itoa(all + 1)}, (*got)[all:]); diff != "" {
		t.Error(diff)
	}
	if n := c.Counts().Total(); n != all {
		t.Errorf("%d with a fault, want %d", n, all)
	}
}
