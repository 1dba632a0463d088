package traces

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Pauses adjoin those of the neighbouring bins, and do not overlap.
func TestPauses(t *testing.T) {
	const bin = 50
	for name, tt := range map[string]struct {
		at   []int64 // any instants in the bins
		took []float64
		want []interval
	}{
		"alone":               {[]int64{149}, []float64{20}, []interval{{100, 120}}},
		"until the next bin":  {[]int64{49, 99}, []float64{20, 30}, []interval{{30, 80}}},
		"over a full bin":     {[]int64{49, 99, 149}, []float64{20, 50, 10}, []interval{{30, 110}}},
		"twice":               {[]int64{49, 99, 149}, []float64{50, 30, 50}, []interval{{0, 80}, {100, 150}}},
		"not in the next bin": {[]int64{49, 99, 149}, []float64{20, 0, 30}, []interval{{0, 20}, {100, 130}}},
		"none":                {[]int64{49}, []float64{0}, nil},
	} {
		if have := pauses(&rackfabv1.Series{TimesPs: tt.at, Values: tt.took}, bin); !slices.Equal(have, tt.want) {
			t.Errorf("%s: %v, want %v", name, have, tt.want)
		}
	}
}

func TestPausesSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bin = 50
		s := &rackfabv1.Series{}
		sum := int64(0)
		for i, took := range rapid.SliceOf(rapid.Int64Range(0, bin)).Draw(t, "paused") {
			s.TimesPs, s.Values = append(s.TimesPs, int64(i)*bin+bin-1), append(s.Values, float64(took))
			sum += took
		}
		end := int64(0)
		for _, p := range pauses(s, bin) {
			if p.from < end || p.to <= p.from || p.to > int64(len(s.GetTimesPs()))*bin {
				t.Fatalf("%v after %d", p, end)
			}
			sum, end = sum-(p.to-p.from), p.to
		}
		if sum != 0 {
			t.Errorf("%d ps are missing", sum)
		}
	})
}

// A seed that no signed integer has is a decimal text.
func TestSeedOfFiles(t *testing.T) {
	for seed, want := range map[uint64]any{7: int64(7), 1<<63 - 1: int64(1<<63 - 1), 1 << 63: "9223372036854775808", 1<<64 - 1: "18446744073709551615"} {
		d := &Data{Run: &rackfabv1.CollectedRun{Run: "a", UnsignedSeed: seed}}
		list := d.identity()
		i := slices.IndexFunc(list, func(a *rackfabv1.Attribute) bool { return a.GetKey() == "rackfab.seed" })
		var got any = list[i].GetNumber()
		if _, ok := list[i].GetValue().(*rackfabv1.Attribute_Text); ok {
			got = list[i].GetText()
		}
		if got != want {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

func TestMicros(t *testing.T) {
	for ps, want := range map[micros]string{0: "0", 1: "0.000001", 1_000_000: "1", 49_999_000: "49.999000", -1: "-0.000001", -2_500_000: "-2.500000"} {
		if have, err := json.Marshal(ps); err != nil || string(have) != want {
			t.Errorf("%d ps: %s, want %s us", ps, have, want)
		}
	}
}

func TestNodesAreOrderedByNumber(t *testing.T) {
	nodes := []string{"s0", "h10", "h2", "leaf0", "h1", "h"}
	slices.SortFunc(nodes, compareNodes)
	if want := []string{"h", "h1", "h2", "h10", "leaf0", "s0"}; !slices.Equal(nodes, want) {
		t.Errorf("%v, want %v", nodes, want)
	}
}

// A file shows the queues of its part of the run only, also where the first bin has none. A number that
// a browser would round is text.
func TestFileBeginsWithItsPartOfTheRun(t *testing.T) {
	const us, epoch = 1_000_000, 1_577_836_800_000_000_000
	d := &Data{
		Run: &rackfabv1.CollectedRun{Run: "a", BinPs: 50 * us, EpochUnixNano: epoch}, FromPs: 120 * us,
		Series: []*rackfabv1.Series{{Metric: Queue, Node: "s0", Peer: "s1", TimesPs: []int64{199 * us}, Values: []float64{7000}}},
	}
	var b strings.Builder
	if err := Write(&b, Chrome, d); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Phase string  `json:"ph"`
			At    float64 `json:"ts"`
			Args  struct{ Bytes float64 }
		}
		OtherData map[string]any
	}
	if err := json.Unmarshal([]byte(b.String()), &file); err != nil {
		t.Fatal(err)
	}
	var points [][2]float64
	for _, e := range file.TraceEvents {
		if e.Phase == "C" {
			points = append(points, [2]float64{e.At, e.Args.Bytes})
		}
	}
	if want := [][2]float64{{100, 0}, {150, 7000}, {200, 0}}; !slices.Equal(points, want) {
		t.Errorf("queue %v, want %v", points, want)
	}
	if file.OtherData["rackfab.epoch_unix_nano"] != "1577836800000000000" || file.OtherData["rackfab.seed"] != 0.0 {
		t.Errorf("%v", file.OtherData)
	}
}
