package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us = unit.Microsecond
	ms = unit.Millisecond
)

// bins is the number of bins of a sample.
const bins = 40

// sample is the folder of a short run of pcn-16to2 with invented figures, all different.
func sample(t testing.TB, dir string, schemes ...string) *Folder {
	t.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.Parse("pcn-16to2", text)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = scenariofile.Override(s, scenariofile.Overrides{Duration: bins * 50 * us}); err != nil {
		t.Fatal(err)
	}
	r := &measure.Results{Schema: measure.Schema, Scenario: s.Name, Seed: s.Seed, Bus: "memory"}
	for i, scheme := range schemes {
		r.Runs = append(r.Runs, sampleRun(s, scheme, int64(i+1)))
	}
	return New(dir, s, r, "v1.2.3")
}

// builtin returns a built-in scenario with settings.
func builtin(t testing.TB, name string, set ...topology.Setting) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin(name)
	s, err := scenariofile.ParseWith(name, text, set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// paperSample is a sample whose scenario is the paper's, with its full duration.
func paperSample(t testing.TB, schemes ...string) *Folder {
	t.Helper()
	f := sample(t, "out", schemes...)
	f.Scenario = builtin(t, paperScenario)
	return f
}

func sampleRun(s *topology.Scenario, scheme string, k int64) *measure.Run {
	run := &measure.Run{
		Scheme: scheme, Digest: fmt.Sprintf("%016x", k), FabricTime: s.Duration, Bin: s.Bin, Wall: 0.5, CPU: 0.25, FrameHops: 1000 * k, Envelopes: 70 + k,
		Tree: unit.Time(k) * ms / 4, PausedOutside: unit.Time(k) * ms / 8, Loss: unit.Time(k) * ms / 2, Recovery: unit.Time(k) * ms / 3, Drops: 5 + k,
		Pauses: []measure.Pause{
			{Link: "s0->h0", XOFF: 10 * k, Paused: 1100 * us},
			{Link: "s1->h2", XOFF: 100 * k, Paused: 100 * us},
			{Link: "s1->h3", XOFF: 1000 * k, Paused: 200 * us},
		},
		Flows: []measure.Flow{
			{Name: "F0", Goodput: 11e9, BurstGoodput: unit.Rate(k) * 1e9, End: s.Duration},
			{Name: "F1", Goodput: 12e9, BurstGoodput: unit.Rate(k) * 2e9, End: s.Duration},
		},
		Burst: measure.Burst{Flows: 224, Completed: 223, P50: 321 * us, P99: 654 * us, Start: 300 * us, End: 1200 * us},
	}
	values := func(seed int64) []int64 {
		v := make([]int64, bins)
		for i := range v {
			v[i] = k * (seed + 3*int64(i)) % 1009
		}
		return v
	}
	var rates []unit.Rate
	for _, v := range values(5) {
		rates = append(rates, unit.Rate(v)*1e7)
	}
	run.Series = &measure.RunSeries{
		Bin:     s.Bin,
		Goodput: []measure.Series{{Name: "F0", Bins: values(100)}, {Name: "F1", Bins: values(200), Flow: 1}, {Name: "burst", Bins: values(300), Flow: -1}},
		Rates:   []measure.RateSeries{{Name: "F0", Bins: rates}, {Name: "F1", Bins: rates}},
		Sent:    []measure.Series{{Name: "F0", Bins: values(400)}, {Name: "F1", Bins: values(500), Flow: 1}},
		Pauses:  []measure.PauseSeries{{Link: "s0->h0", Bins: values(600)}, {Link: "s1->h2", Bins: values(700)}},
		Queues: []measure.QueueSeries{
			{Port: "s0->s1", Peak: values(800), End: values(1)},
			{Port: "s1->r0", Peak: values(900), End: values(2)},
			{Port: "s1->h2", Peak: values(33), End: values(3)},
		},
	}
	run.Series.Granted = []measure.Series{{Name: "h0->r0", Bins: values(50)}}
	run.Series.Wasted = []measure.Series{{Name: "h0->r0", Bins: values(20)}}
	if strings.HasPrefix(scheme, "cbrc") {
		run.Credit = &measure.Credit{Granted: 148_300_000, Wasted: 74_200_000, Lost: 24_200_000}
	}
	return run
}
