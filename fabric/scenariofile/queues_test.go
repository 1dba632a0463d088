package scenariofile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// queued returns the sample with settings of its switches, under a scheme.
func queued(t *testing.T, scheme, settings string) *topology.Scenario {
	t.Helper()
	s := parsed(t, strings.NewReplacer("buffer: 12MB", "buffer: 12MB, "+settings, "scheme: pcn", "scheme: "+scheme).Replace(sample))
	same(t, s) // the scenario parses back from its manifest
	return s
}

// TRIM-11: the classes of lossless have PFC unless the scheme, the switch or the class turns it off. Without
// PFC they keep the marking law of the scheme.
func TestPFCOnOrOff(t *testing.T) {
	for _, c := range []struct {
		scheme, settings string
		lossless         []fabric.Priority
		marking          cc.Marking // of class 3
	}{
		{"dcqcn", "kmin: 5KB", []fabric.Priority{3}, ""},
		{"dcqcn", "pfc: on", []fabric.Priority{3}, ""},
		{"dcqcn", "pfc: off", nil, cc.MarkRED},
		{"dcqcn", "pfc: off, marking: {3: step}", nil, cc.MarkStep},
		{"dcqcn", "lossless: [3, 4], pfc: off, class4: {pfc: on}", []fabric.Priority{4}, cc.MarkRED},
		{"dcqcn", "lossless: [3, 4], class4: {pfc: off}", []fabric.Priority{3}, ""},
		{"irn", "kmin: 5KB", nil, cc.MarkRED},
		{"irn", "pfc: on", []fabric.Priority{3}, ""},
		{"irn", "lossless: [3, 4], class4: {pfc: on}", []fabric.Priority{4}, cc.MarkRED},
	} {
		s := queued(t, c.scheme, c.settings)
		built := s.AsBuilt().Nodes[5].Switch
		if diff := cmp.Diff(c.lossless, built.Lossless); diff != "" {
			t.Errorf("%s, %s: lossless %s", c.scheme, c.settings, diff)
		}
		if got := built.Marking[3]; got != c.marking {
			t.Errorf("%s, %s: marking %q, want %q", c.scheme, c.settings, got, c.marking)
		}
		if diff := cmp.Diff(s.AsBuilt(), s.AsBuilt().AsBuilt()); diff != "" {
			t.Errorf("%s, %s: built twice:\n%s", c.scheme, c.settings, diff)
		}
	}
}

// TRIM-6: data is trimmed at 1 BDP, at the last hop at 1.5 BDP, and trimmed packets are dropped at 1 BDP,
// unless the scenario sets other limits, in bytes or as multiples of the BDP.
func TestQueueLimits(t *testing.T) {
	bdp := func(x float64) topology.Extent { return topology.Extent{BDP: x} }
	bytes := func(n unit.Bytes) topology.Extent { return topology.Extent{Bytes: n} }
	none := topology.Extent{}
	for _, c := range []struct {
		settings              string
		limit, last, trimmedC topology.Extent
		trims                 bool
	}{
		{"pfc: off", none, none, none, false},
		{"pfc: off, queue_limit: 5bdp", bdp(5), none, none, false},
		{"trim: on", none, none, none, false}, // with PFC
		{"pfc: off, trim: on", bdp(1), bdp(1.5), bdp(1), true},
		{"pfc: off, trim: on, queue_limit: 30KB", bytes(30 * unit.Kilobyte), none, bdp(1), true},
		{"pfc: off, trim: on, queue_limit: 30KB, queue_limit_lasthop: 2.5bdp", bytes(30 * unit.Kilobyte), bdp(2.5), bdp(1), true},
		{"pfc: off, trim: on, queue_limit_lasthop: 60KB", bdp(1), bytes(60 * unit.Kilobyte), bdp(1), true},
		{"pfc: off, class3: {trim: on, queue_limit: .5bdp}, class5: {queue_limit: 10KB}", bdp(.5), none, bytes(10 * unit.Kilobyte), true},
		{"pfc: off, trim: on, class3: {trim: off}", none, none, none, false},
		{"lossless: [], class3: {trim: on}", bdp(1), bdp(1.5), bdp(1), true},
		{"lossless: [], trim: on", none, none, none, false}, // class 3 is not one that PFC protects
		{"lossless: [], class3: {queue_limit: 0}", none, none, none, false},
	} {
		s := queued(t, "dcqcn", c.settings).AsBuilt()
		set := &s.Nodes[5].Switch
		limit, last, trims := set.Queue(3)
		trimmed, _, _ := set.Queue(topology.TrimmedClass)
		if limit != c.limit || last != c.last || trimmed != c.trimmedC || trims != c.trims {
			t.Errorf("%s: %v, last hop %v, trimmed packets %v, trims %v; want %v, %v, %v, %v", c.settings, limit, last, trimmed, trims, c.limit, c.last, c.trimmedC, c.trims)
		}
		if got := s.DSCPMap()[41] == topology.TrimmedClass; got != c.trims {
			t.Errorf("%s: DSCP 41 is in class %d", c.settings, s.DSCPMap()[41])
		}
	}
}

// TRIM-7: under a scheme that trims, a queue whose trimming is off has 5 BDP, unless the scenario sets another
// limit.
func TestLimitWithoutTrimming(t *testing.T) {
	for settings, want := range map[string]topology.Extent{"trim: off": {BDP: 5}, "trim: off, queue_limit: 2bdp": {BDP: 2}} {
		set := &queued(t, "mrc", settings).AsBuilt().Nodes[5].Switch
		if limit, last, trims := set.Queue(3); limit != want || last != (topology.Extent{}) || trims {
			t.Errorf("%s: %v, last hop %v, trims %v; want %v", settings, limit, last, trims, want)
		}
	}
}

// NSCC-1: the settings of NSCC for switches that trim follow the switches under a scheme that trims, unless the
// scenario sets them.
func TestNSCCFollowsTheSwitches(t *testing.T) {
	for _, c := range []struct {
		set  string
		want cc.NSCCTrimming
	}{
		{"scheme=mrc", cc.TrimmingOfSwitches},
		{"scheme=mrc switch.trim=off", cc.TrimmingOff},
		{"scheme=nscc switch.pfc=on", cc.TrimmingOff},
		{"scheme=rccc switch.trim=off s0.class3.trim=on", cc.TrimmingOfSwitches},
		{"scheme=mrc switch.trim=off nscc.trimming=on", cc.TrimmingOn},
		{"scheme=mrc nscc.trimming=off", cc.TrimmingOff},
		{"scheme=dcqcn switch.trim=off", cc.TrimmingOfSwitches},
	} {
		var set []topology.Setting
		for _, one := range settingsIn(c.set) {
			key, value, _ := strings.Cut(one, "=")
			set = append(set, topology.Setting{Key: key, Value: value})
		}
		s, err := ParseWith("sample.yaml", []byte(sample), set)
		if err != nil {
			t.Fatal(err)
		}
		before := s.CC.NSCC.Trimming
		built := s.AsBuilt()
		if got := built.CC.NSCC.Trimming; got != c.want || s.CC.NSCC.Trimming != before {
			t.Errorf("%s: %q, want %q; the scenario's changed from %q to %q", c.set, got, c.want, before, s.CC.NSCC.Trimming)
		}
		if diff := cmp.Diff(built, built.AsBuilt()); diff != "" {
			t.Errorf("%s: built twice:\n%s", c.set, diff)
		}
	}
}

// The sample's NICs have links of 40 Gbit/s, and r0 is two switches away from h0.
func TestBDP(t *testing.T) {
	s := parsed(t, sample)
	paths := routes.NewPaths(s, s.PortMap())
	if got, want := paths.BDP(), unit.Bytes(float64(paths.RTT(0, 4))*40/8000); got != want {
		t.Errorf("BDP %v, want %v", got, want)
	}
	if e := (topology.Extent{BDP: 1.5}); e.At(1000) != 1500 || e.String() != "1.5bdp" {
		t.Errorf("%v is %v", e, e.At(1000))
	}
}

// TRIM-6: a live change names a class, and takes bytes or multiples of the BDP.
func TestTuneQueueLimits(t *testing.T) {
	text := strings.Replace(sample, "buffer: 12MB", "buffer: 12MB, pfc: off, trim: on", 1) +
		"changes:\n  - {at: 1us, set: s0.class3.queue_limit=0.5bdp}\n  - {at: 2us, set: s0.class3.queue_limit_lasthop=20KB}\n"
	s := parsed(t, text)
	same(t, s)
	bdp := routes.NewPaths(s, s.PortMap()).BDP()
	for i, want := range []fabric.Change{
		{Key: fabric.KeyQueueLimit, Value: int64(bdp / 2), Classes: 1 << 3, Named: true},
		{Key: fabric.KeyQueueLimitLastHop, Value: 20_000, Classes: 1 << 3, Named: true},
	} {
		if diff := cmp.Diff([]Tuning{tuning(5, want)}, tuned(s, i)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFaultsOfQueues(t *testing.T) {
	for settings, want := range map[string]string{
		"pfc: maybe":                           `switches.s0..s1.pfc: "maybe" is unknown, want one of scheme, on, off`,
		"trim: yes":                            `trim: "yes" is unknown, want one of scheme, on, off`,
		"queue_limit: 1000B":                   "queue_limit: 1KB holds less than one frame of 1518B, so no packet would be queued whole: want 1518B or more, or 0 for no limit",
		"queue_limit: 0bdp":                    `queue_limit: "0bdp" is not a multiple of the bandwidth-delay product, want a number above 0 and up to 1000, like 1.5bdp`,
		"queue_limit_lasthop: 12":              `"12" has no unit, want a number and a unit, from 0B to 1TB, or a multiple of the bandwidth-delay product, like 1.5bdp`,
		"class3: {queue_limit: 100B}":          "class3.queue_limit: 100B holds less than one frame",
		"trim_dscp: 64":                        `trim_dscp: "64" is not an integer from 0 to 63`,
		"trim_policy: last":                    `trim_policy: "last" is unknown, want one of arriving, htsim`,
		"trim_size: 63B":                       "trim_size: 63B is out of range, want 64B",
		"bdp_kmin: 0.9":                        "bdp_kmin: 0.9 is above bdp_kmax 0.8",
		"class1: {pfc: off}":                   "class1.pfc: class 1 is not in lossless, so it has no PFC: want it in lossless, or no pfc",
		"pfc: on, class3: {trim: on}":          "class3.trim: class 3 has pfc on, and only classes without PFC trim: want pfc off or scheme, or trim off",
		"pfc: off, trim: on, trim_dscp: 26":    "trim_dscp: DSCP 26 is in class 3, want one of a class that is not in lossless and not class 3, whose packets are trimmed",
		"class1: {trim: on}, trim_dscp: 8":     "trim_dscp: DSCP 8 is in class 1, want one of a class that is not in lossless and not class 1",
		"class1: {trim: on}, lossless: [3, 5]": "trim_dscp: DSCP 40 is in class 5, want one of a class that is not in lossless",
	} {
		_, err := Parse("f", []byte(strings.Replace(sample, "buffer: 12MB", "buffer: 12MB, "+settings, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", settings, err, want)
		}
	}
}
