package workload

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// web returns 32 hosts of 40 Gbit/s that send web search at half that rate for 200
// ms.
func web(seed uint64) (Traffic, []Host) {
	t := Traffic{Sizes: Find("websearch"), Load: Full / 2, Start: unit.Millisecond, Until: 201 * unit.Millisecond, Seed: seed}
	hosts := make([]Host, 32)
	for i := range hosts {
		hosts[i] = Host{ID: uint64(i), Rate: 40 * unit.GigabitPerSec, Others: 31}
	}
	return t, hosts
}

// HPCC simulator, traffic_gen.py: mean_size*8 / (bw*load).
func TestMeanGapMatchesTheHPCCSimulator(t *testing.T) {
	traffic, hosts := web(1)
	if got, want := traffic.Gap(hosts[0].Rate), 684500*unit.Nanosecond; got != want {
		t.Errorf("gap %s, want %s", got, want)
	}
	if got := traffic.Expected(hosts); math.Abs(got-32*200e3/684.5) > 1e-6 {
		t.Errorf("%v flows are expected", got)
	}
	slow := Traffic{Sizes: CDF{{Largest, 0}, {Largest, All}}, Load: 1}
	if got := slow.Gap(unit.KilobitPerSec); got != rarest {
		t.Errorf("gap %s, want %s", got, rarest)
	}
}

// With about 9350 flows per seed, rate, load and mean size lie within four standard
// deviations of their expected values. Arrivals are a Poisson process: the standard
// deviation of the gaps equals their mean. Every host is chosen equally often.
func TestDrawsHaveTheRequestedRateLoadAndSizes(t *testing.T) {
	for seed := range uint64(8) {
		traffic, hosts := web(seed)
		flows := traffic.Draw(hosts, 1<<20)
		n, want := float64(len(flows)), traffic.Expected(hosts)
		near(t, "flows", n, want, 4*math.Sqrt(want))
		var sum, squares float64
		for _, f := range flows {
			sum, squares = sum+float64(f.Size), squares+float64(f.Size)*float64(f.Size)
		}
		deviation := math.Sqrt(squares/n-sum/n*sum/n) / math.Sqrt(n)
		near(t, "mean size", sum/n, 1_711_250, 4*deviation)
		near(t, "load", sum*8/(32*40e9*0.2), 0.5, 0.5*4*(deviation/1_711_250+1/math.Sqrt(want)))
		gaps(t, flows, traffic, hosts)
		targets(t, flows)
	}
}

func near(t *testing.T, what string, got, want, slack float64) {
	t.Helper()
	if math.Abs(got-want) > slack {
		t.Errorf("%s: %v, want %v within %v", what, got, want, slack)
	}
}

// gaps checks the mean and standard deviation of the gaps, host by host.
func gaps(t *testing.T, flows []Arrival, traffic Traffic, hosts []Host) {
	t.Helper()
	var sum, squares, n float64
	for h := range hosts {
		last := traffic.Start
		for _, f := range flows {
			if f.From == h {
				gap := float64(f.At - last)
				sum, squares, n, last = sum+gap, squares+gap*gap, n+1, f.At
			}
		}
	}
	mean := float64(traffic.Gap(hosts[0].Rate))
	near(t, "mean gap", sum/n, mean, 4*mean/math.Sqrt(n)+mean*32/n)
	near(t, "deviation of gaps", math.Sqrt(squares/n-sum/n*sum/n), mean, 0.1*mean)
}

func targets(t *testing.T, flows []Arrival) {
	t.Helper()
	chosen := make([]float64, 31)
	for _, f := range flows {
		chosen[f.To]++
	}
	want := float64(len(flows)) / 31
	for _, n := range chosen {
		near(t, "flows to one host", n, want, 5*math.Sqrt(want))
	}
}

func TestDrawsDependOnSeedAndHostOnly(t *testing.T) {
	traffic, hosts := web(7)
	all := traffic.Draw(hosts, 1<<20)
	if !slices.IsSortedFunc(all, func(a, b Arrival) int { return int(a.At - b.At) }) {
		t.Error("flows are not sorted by start time")
	}
	if !slices.Equal(all, traffic.Draw(hosts, 1<<20)) {
		t.Error("the same seed draws different flows")
	}
	other, _ := web(8)
	if slices.Equal(all, other.Draw(hosts, 1<<20)) {
		t.Error("a different seed draws the same flows")
	}
	longer := traffic
	longer.Until *= 2
	if more := longer.Draw(hosts, 1<<20); !slices.Equal(all, more[:len(all)]) {
		t.Error("a later end changes earlier flows")
	}
	var ofThird []Arrival
	for _, f := range all {
		if f.From == 3 {
			f.From = 0
			ofThird = append(ofThird, f)
		}
	}
	if !slices.Equal(ofThird, traffic.Draw(hosts[3:4], 1<<20)) {
		t.Error("a host's flows depend on other hosts")
	}
	if got := traffic.Draw(hosts[:2], 3); len(got) != 6 {
		t.Errorf("%d flows, want 3 of each host", len(got))
	}
}

// A change to these numbers changes every run of a workload.
func TestFirstFlowsOfSeedOne(t *testing.T) {
	traffic, hosts := web(1)
	want := []Arrival{
		{1_001_214_258, 28, 14, 1_033_994},
		{1_062_539_791, 28, 30, 11_683},
		{1_064_280_213, 2, 11, 3_527_091},
		{1_107_777_754, 16, 18, 53_957},
	}
	if got := traffic.Draw(hosts, 1<<20)[:4]; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

// The reference implementation uses floating-point logarithms.
func TestExponentialDrawsMatchASlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Uint64().Draw(t, "r")
		mean := unit.Time(rapid.Int64Range(1, int64(rarest)).Draw(t, "mean"))
		want := -math.Log((float64(r)+1)/(1<<63)/2) * float64(mean)
		if got := float64(exponential(r, mean)); math.Abs(got-want) > 1+1e-11*float64(mean)+1e-12*want {
			t.Fatalf("r %d, mean %d: %v, want %v", r, mean, got, want)
		}
	})
	if exponential(math.MaxUint64, rarest) != 0 || exponential(0, rarest) < 44*rarest {
		t.Error("the ends of the range are not 0 and 64 ln 2")
	}
}
