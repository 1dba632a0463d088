package imports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
	chakrav1 "github.com/rackfab/rackfab/proto/rackfab/chakra/v1"
)

// The run of a trace is as long as all steps one after the other, with twice the time of their bytes, and 1 ms. If the steps
// are known to take less, it is twice as long as they take, and 1 ms. A message of 999,800 bytes and headers takes 160 us at
// half of 100 Gbit/s, and 8 us.
func TestDuration(t *testing.T) {
	const (
		ms   = "000000"
		big  = "999800b"
		busy = "calc 10" + ms + " cpu 8\n" // adds to all steps, not to the time that they take
	)
	for name, c := range map[string]struct {
		ranks []string // of four
		want  string
	}{
		"nothing":           {nil, "1ms"},
		"one after another": {[]string{"a: calc 3000000\nb: calc 2000000\nb requires a"}, "6.017ms"},
		"a message":         {[]string{"send 999800b to 1", "recv 999800b from 0"}, "1.176ms"},
		"many hosts":        {[]string{busy, busy, busy, busy}, "21ms"},
		"one processor":     {[]string{busy + busy, busy, busy}, "41ms"},
		"two processors":    {[]string{busy + "calc 10000000 cpu 9\n", busy, busy}, "21ms"},
		"chain": {[]string{
			"a: calc 10" + ms + "\nb: send " + big + " to 1\nb requires a\n" + busy,
			"a: recv " + big + " from 0\nb: calc 10" + ms + "\nb requires a\n" + busy, busy, busy,
		}, "41.336ms"},
		"one sends": {[]string{
			"a: calc 10" + ms + "\nb: send " + big + " to 1\nb requires a\nc: send " + big + " to 2\nc requires a\nd: send " + big + " to 3\nd requires a\n" + busy,
			"recv " + big + " from 0\n" + busy, "recv " + big + " from 0\n" + busy, "a: recv " + big + " from 0\nb: calc 10" + ms + "\nb requires a\n" + busy,
		}, "41.976ms"},
		"one receives": {[]string{
			"a: recv " + big + " from 1\nb: recv " + big + " from 2\nc: recv " + big + " from 3\nd: calc 20" + ms + "\nd requires a\nd requires b\nd requires c\n" + busy,
			"send " + big + " to 0\n" + busy, "send " + big + " to 0\n" + busy, "send " + big + " to 0\n" + busy,
		}, "41.976ms"},
		"tags": {[]string{
			"send 5b to 1 tag 1\na: calc 10" + ms + "\nb: send 5b to 1 tag 2\nb requires a\n" + busy + busy,
			"a: recv 5b from 0 tag 1\nb: calc 10" + ms + "\nb requires a\n" + busy + busy,
		}, "41ms"},
		"order": {[]string{
			"send 5b to 1\na: calc 10" + ms + "\nb: send 5b to 1\nb requires a\n" + busy,
			"a: recv 5b from 0\nb: recv 5b from 0\nc: calc 10" + ms + "\nc requires a\nd: calc 10" + ms + "\nd requires c\ne: calc 15" + ms + " cpu 9\ne requires b\n" + busy,
		}, "51.017ms"},
		"both":                            {[]string{"a: calc 20" + ms + "\nb: calc 10" + ms + " cpu 9\nc: calc 10" + ms + " cpu 7\nc requires a\nc requires b\n" + busy, busy, busy, busy}, "61ms"},
		"ages":                            {[]string{strings.Repeat("calc 1000000"+ms+"\n", 10000)}, "1000s\nbin: 1ms"},
		"began":                           {[]string{busy + "a: calc 10" + ms + " cpu 8\nb: calc 20" + ms + "\nb irequires a"}, "41ms"},
		"done":                            {[]string{busy + "a: calc 10" + ms + "\nb: calc 10" + ms + "\nb requires a", busy, busy, busy}, "41ms"},
		"any host":                        {[]string{"send 5b to 1\n" + busy, "recv 5b from -1\n" + busy}, "21.033ms"},
		"any tag":                         {[]string{"send 5b to 1\n" + busy, "recv 5b from 0 tag -1\n" + busy}, "21.033ms"},
		"deadlock":                        {[]string{"a: recv 5b from 1\nb: send 5b to 1\nc: send 5b to 1\nb requires a\nc requires a\n" + busy, "a: recv 5b from 0\nb: send 5b to 0\nb requires a\n" + busy}, "21.057ms"},
		"a limit":                         {[]string{"calc 1000000000000\ncalc 1000000000000", "calc 1000000000000"}, "1000s\nbin: 1ms"},
		"more bins":                       {[]string{"calc 50000000000"}, "50.001008s\nbin: 1ms"},
		"less bins":                       {[]string{"calc 49998000000"}, "49.999008s\nnics"},
		"fewer than by one after another": {[]string{"calc 30000000000", "calc 30000000000", "calc 5000000000 "}, "60.001s\nbin: 1ms"},
		"bins of a shorter run":           {[]string{"calc 20000000000", "calc 20000000000", "calc 20000000000"}, "40.001s\nnics"},
	} {
		text := "num_ranks 4\n"
		for i, steps := range c.ranks {
			text += fmt.Sprintf("rank %d {\n%s\n}\n", i, steps)
		}
		if out, err := traced(text, nil); err != nil || !strings.Contains(string(out.Scenario), "\nduration: "+c.want+"\n") && !strings.Contains(string(out.Scenario), "\nduration: "+c.want+":") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
			if err == nil {
				t.Logf("%.100s", out.Scenario)
			}
		}
	}
	slow := File{"t.goal", []byte("num_ranks 2\nrank 0 {\na: calc 1\nb: send 2147483648b to 1\nb requires a\n}\nrank 1 { recv 5b from 0 }\n")}
	if out, err := GOAL(slow, nil, Layout{Rate: unit.KilobitPerSec, Delay: unit.Microsecond}); err != nil || !strings.Contains(string(out.Scenario), "\nduration: 1000s\n") {
		t.Errorf("%v", err)
	}
	part := []*chakrav1.Node{collNode(1, 0, 1e6, "")}
	if out, err := chakraOf(part, part); err != nil || !strings.Contains(string(out.Scenario), "\nduration: 1.353ms\n") {
		t.Errorf("%v\n%s", err, out.Scenario)
	}
}
