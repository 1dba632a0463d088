package examples

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/templates"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxHops bounds the frame-hops of all schemes of an example, so that it runs in less than a second:
// a core does some 3 million per second.
const maxHops = 2_000_000

// outcomes are the runs of an example by scheme.
type outcomes map[string]*measure.Run

// shows holds what each example says that it shows.
var shows = map[string]func(t *testing.T, of outcomes){
	"victim-flow": func(t *testing.T, of outcomes) {
		pfc, pcn := of["pfc"].Flows[0], of["pcn"].Flows[0]
		if pfc.Name != "F0" || pfc.BurstGoodput > 5*unit.GigabitPerSec || pcn.BurstGoodput < 20*unit.GigabitPerSec {
			t.Errorf("%s got %v under pfc and %v under pcn", pfc.Name, pfc.BurstGoodput, pcn.BurstGoodput)
		}
	},
	"incast": func(t *testing.T, of outcomes) {
		if len(of["pfc"].Pauses) != 32 || len(of["hpcc"].Pauses) != 0 || of["nscc"].TrimmedFrames == 0 {
			t.Errorf("%d links paused under pfc, %d under hpcc, %d packets trimmed under nscc", len(of["pfc"].Pauses), len(of["hpcc"].Pauses), of["nscc"].TrimmedFrames)
		}
		for scheme, run := range of {
			if run.Burst.Completed != 32 {
				t.Errorf("%d of 32 flows completed under %s", run.Burst.Completed, scheme)
			}
		}
	},
	"permutation": func(t *testing.T, of outcomes) {
		if ecmp, spread := slowest(of["irn"]), slowest(of["mrc"]); spread < 2*ecmp || len(of["irn"].Flows) != 16 {
			t.Errorf("the slowest flow got %v by ECMP and %v with a path per packet", ecmp, spread)
		}
	},
	"all-reduce": done,
	"rail":       done,
	"fat-tree": func(t *testing.T, of outcomes) {
		if run := of["irn"]; run.OutOfOrder == 0 || run.Drops != 0 || slowest(run) < 40*unit.GigabitPerSec {
			t.Errorf("irn: %d out of order, %d drops, the slowest flow got %v", run.OutOfOrder, run.Drops, slowest(run))
		}
	},
	"dragonfly": func(t *testing.T, of outcomes) {
		if len(of["pfc"].Pauses) == 0 || len(of["dcqcn"].Pauses)+len(of["hpcc"].Pauses)+len(of["nscc"].Pauses) != 0 {
			t.Errorf("%d links paused under pfc, %d under dcqcn", len(of["pfc"].Pauses), len(of["dcqcn"].Pauses))
		}
		if least := slowest(of["pfc"]); least < 40*unit.GigabitPerSec || least > 60*unit.GigabitPerSec {
			t.Errorf("the slowest flow got %v under pfc, want half of a link", least)
		}
	},
	"leaf-spine": func(t *testing.T, of outcomes) {
		for scheme, run := range of {
			if w := run.Workloads; len(w) != 1 || w[0].All.Flows < 20 || w[0].All.Completed != w[0].All.Flows {
				t.Errorf("%s: workloads %+v", scheme, w)
			}
		}
	},
	"link-failure": func(t *testing.T, of outcomes) {
		dcqcn, mrc := of["dcqcn"], of["mrc"]
		if dcqcn.Drops == 0 || dcqcn.Failure == nil || dcqcn.Failure.Least >= mrc.Failure.Least || mrc.Failure.Recovery != 0 {
			t.Errorf("dcqcn: %d drops, %+v; mrc %+v", dcqcn.Drops, dcqcn.Failure, mrc.Failure)
		}
	},
	"programs": func(t *testing.T, of outcomes) {
		for scheme, run := range of {
			if p := run.Programs; p.Done != p.Steps || p.Steps == 0 {
				t.Errorf("%s: %d of %d steps", scheme, p.Done, p.Steps)
			}
		}
	},
	"star": func(t *testing.T, of outcomes) {
		if swift, hpcc := of["swift"].Settled, of["hpcc"].Settled; swift.Jain < 0.99 || hpcc.Jain > 0.95 {
			t.Errorf("the flows share the link with an index of %v under swift, %v under hpcc", swift.Jain, hpcc.Jain)
		}
	},
}

// done checks that all collectives are done.
func done(t *testing.T, of outcomes) {
	for scheme, run := range of {
		for _, c := range run.Collectives {
			if !c.Finished() || c.BusBW < 50*unit.GigabitPerSec {
				t.Errorf("%s: %+v", scheme, c)
			}
		}
		if len(run.Collectives) == 0 {
			t.Errorf("%s: no collective", scheme)
		}
	}
}

// slowest returns the least goodput of the flows.
func slowest(run *measure.Run) unit.Rate {
	return slices.MinFunc(run.Flows, func(a, b measure.Flow) int { return int(a.Goodput - b.Goodput) }).Goodput
}

// Every example is a valid scenario without a warning, which runs in a second under several
// schemes and shows what it says.
func TestExamplesShowWhatTheySay(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			s, err := scenariofile.Parse(e.File(), []byte(e.Text))
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != e.Name || len(s.Compare) < 3 || !slices.Contains(s.Compare, s.Scheme) {
				t.Errorf("scenario %s, scheme %s, compares %v", s.Name, s.Scheme, s.Compare)
			}
			if slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Name == "done" }) {
				t.Error("a flow has the name of the column of those that are done")
			}
			of, hops := outcomes{}, int64(0)
			for _, scheme := range s.Compare {
				one := scenariofile.Under(s, scheme)
				if list := scenariofile.Warnings(one); list != nil {
					t.Errorf("%s: %v", scheme, list)
				}
				if of[scheme], err = lab.Measure(one); err != nil {
					t.Fatal(err)
				}
				hops += of[scheme].FrameHops
			}
			if hops > maxHops {
				t.Errorf("%d frame-hops: must be at most %d", hops, maxHops)
			}
			if shows[e.Name] == nil {
				t.Fatal("no test of what it shows")
			}
			shows[e.Name](t, of)
		})
	}
}

// Every example says in its first lines what it shows, and names commands.
func TestExamplesNameCommands(t *testing.T) {
	for _, e := range All() {
		if len(e.Title()) < 20 || len(e.Commands()) < 2 {
			t.Errorf("%s: title %q, commands %q", e.Name, e.Title(), e.Commands())
		}
		for _, line := range e.Commands() {
			if !strings.Contains(line, " examples/"+e.File()) {
				t.Errorf("%s: %s", e.Name, line)
			}
		}
		there := e.At("racks/mine.yaml")
		if there.Title() != e.Title() || !strings.Contains(there.Commands()[0], " racks/mine.yaml") || strings.Contains(there.Text, "examples/") {
			t.Errorf("%s in another folder:\n%s", e.Name, there.Text)
		}
	}
}

// The default is the first example, and every template of a topology has one.
func TestTemplatesHaveExamples(t *testing.T) {
	if names := Names(); names[0] != Default || !slices.IsSorted(names[1:]) {
		t.Errorf("examples %v", names)
	}
	for _, name := range templates.Names() {
		if e, ok := Find(name); !ok || !strings.Contains(e.Text, "topology: {template: "+name+",") {
			t.Errorf("no example of the template %s", name)
		}
	}
	if _, ok := Find("nothing"); ok {
		t.Error("an example that does not exist is found")
	}
}
