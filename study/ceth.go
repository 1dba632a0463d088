package study

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// reaction is the outcome of ceth-reaction under one scheme.
type reaction struct {
	Scheme string `json:"scheme"`
	Digest string `json:"digest"`
	measure.ReactionResult
	Marks int   `json:"marked"` // packets of the flow
	ACKs  int64 `json:"acks"`   // received by the senders, of all flows
	CNPs  int64 `json:"cnps"`   // sent by the receiver
	run   *measure.Run
}

// reactions is the content of reaction.json.
type reactions struct {
	Scenario string     `json:"scenario"`
	Bus      string     `json:"bus"`
	Seed     uint64     `json:"seed"`
	Flow     string     `json:"flow"`
	Runs     []reaction `json:"runs"`
	// Published are the baselines with DCQCN's published settings, without their
	// packets.
	Published []reaction `json:"published"`
	duration  unit.Time
}

// cethReaction follows one flow through an episode of congestion, packet by packet,
// under each scheme and under DCQCN with its published settings. It reproduces figures
// 3 and 16 of the document on CETH.
func cethReaction(b Bench, set []topology.Setting) (*Result, error) {
	base, err := builtin("ceth-reaction", set)
	if err != nil {
		return nil, err
	}
	var scenarios []*topology.Scenario
	for _, scheme := range base.Compare {
		scenarios = append(scenarios, scenariofile.Under(base, scheme))
	}
	s := scenarios[0]
	all := reactions{Scenario: s.Name, Bus: b.Bus(), Seed: s.Seed, Flow: s.Flows[0].Name, duration: s.Duration}
	if all.Runs, err = reactAll(b, scenarios); err != nil {
		return nil, err
	}
	if all.Published, err = reactAll(b, published(s, set)); err != nil {
		return nil, err
	}
	for i := range all.Published {
		all.Published[i].Packets, all.Published[i].Rates = nil, nil
	}
	r := &Result{JSON: sweep.JSONFile("reaction", &all), Table: all.table()}
	for _, one := range slices.Concat(all.Runs, all.Published) {
		r.Runs = append(r.Runs, one.run)
	}
	r.Files = append(r.Files, sweep.CSVFile("reaction", all.packets()))
	r.addFigure("reaction-packets", all.packetFigure())
	r.addFigure("reaction-rate", all.rateFigure())
	return r, r.addScenario(s)
}

// published returns the baselines with DCQCN's published settings. The scenario's own
// settings are scaled to the document's drawing. With the published ones recovery takes
// so long that the run lasts publishedDuration, unless the duration is set.
func published(s *topology.Scenario, set []topology.Setting) (scenarios []*topology.Scenario) {
	for _, scheme := range []string{"cnp", "dcqcn"} {
		c := *s
		c.Scheme, c.CC.DCQCN = scheme, cc.DefaultDCQCN()
		if !slices.ContainsFunc(set, func(s topology.Setting) bool { return s.Key == "duration" }) {
			c.Duration, c.Bin = publishedDuration, unit.Millisecond
		}
		scenarios = append(scenarios, &c)
	}
	return scenarios
}

const publishedDuration = 40 * unit.Millisecond

// reactAll runs the scenarios and follows their first flow.
func reactAll(b Bench, scenarios []*topology.Scenario) (runs []reaction, err error) {
	kinds := append([]fabric.Kind{fabric.Acked, fabric.Notified}, measure.ReactionKinds...)
	for _, s := range scenarios {
		r := reaction{Scheme: s.Scheme}
		followed := measure.NewReaction(s, 0)
		r.run, err = b.Run(s, kinds, func(_ int, notes []fabric.Note) {
			followed.Observe(notes)
			for i := range notes {
				switch notes[i].Kind {
				case fabric.Acked:
					r.ACKs++
				case fabric.Notified:
					r.CNPs++
				default:
				}
			}
		})
		if err != nil {
			return nil, err
		}
		r.Digest, r.ReactionResult = r.run.Digest, followed.Result()
		for _, p := range r.Packets {
			if p.Marked {
				r.Marks++
			}
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// packets returns the packets as a table of numbers. Names end with their units. The
// instant of a packet that was not received during the run is -1.
func (r *reactions) packets() *sweep.Table {
	var rows [][]any
	for i := range r.Runs {
		for _, p := range r.Runs[i].Packets {
			received, marked := -1.0, int64(0)
			if p.Received != unit.Never {
				received = micros(p.Received)
			}
			if p.Marked {
				marked = 1
			}
			rows = append(rows, []any{r.Runs[i].Scheme, int64(p.Number), int64(p.PSN), micros(p.Sent), received, gigabits(p.Rate), marked})
		}
	}
	return sweep.NewTable("", slices.Concat(sweep.Text.Columns("scheme"), sweep.Integer.Columns("packet", "psn"),
		sweep.Real.Columns("sent_us", "received_us", "rate_gbps"), sweep.Integer.Columns("marked")), rows)
}

// documentPackets are the packet numbers in the document's figures, by scheme (¶112,
// ¶205, ¶206).
var documentPackets = map[string][]any{
	"cnp":  {"  figure 3", "", 5, 7, 10},
	"ceth": {"  figure 16", "", 4, 4, 8},
}

func (r *reactions) table() *table.Table {
	t := table.New(1, "scheme").Group("", "marked").Group("at packet", "slows down", "lowest rate", "recovered").
		Group("notified after, us", "congested", "clear").Group("", "cuts", "ACKs", "CNPs")
	t.Columns = append(t.Columns, table.Column{Name: "digest"})
	t.Title = fmt.Sprintf("%s, seed %d, bus %s: flow %s meets congestion; packet 1 is its first marked packet", r.Scenario, r.Seed, r.Bus, r.Flow)
	for i := range r.Runs {
		t.Row(r.Runs[i].row("")...)
		if row, ok := documentPackets[r.Runs[i].Scheme]; ok {
			t.Row(row...)
		}
	}
	for i := range r.Published {
		t.Row(r.Published[i].row(", DCQCN as published")...)
	}
	return t
}

func (r *reaction) row(settings string) []any {
	return []any{
		r.Scheme + settings, r.Marks, packetNumber(r.SlowDown), packetNumber(r.Lowest), packetNumber(r.Recovered),
		delay(r.Notice), delay(r.End), r.Cuts, r.ACKs, r.CNPs, r.Digest,
	}
}

// packetNumber formats the number of a packet, which is 0 if there is none.
func packetNumber(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func delay(t unit.Time) string {
	if t == unit.Never {
		return "-"
	}
	return decimals(micros(t))
}

// figure returns a figure with one panel per scheme, starting shortly before packet 1.
func (r *reactions) figure(title, y string, lines func(*reaction) []chart.Line) *chart.Figure {
	f := &chart.Figure{Title: title, XLabel: "time [us]", YLabel: y, XMax: micros(r.duration), PanelHeight: 220, Rows: [][]chart.Panel{nil}}
	for i := range r.Runs {
		run := &r.Runs[i]
		aside := fmt.Sprintf("slows down at %d, lowest at %d, recovered at %d", run.SlowDown, run.Lowest, run.Recovered)
		f.Rows[0] = append(f.Rows[0], chart.Panel{Title: run.Scheme, Aside: aside, Lines: lines(run)})
		for _, p := range run.Packets {
			if p.Number == 0 {
				f.XMin = micros(p.Sent)
			}
		}
	}
	return f
}

// lastDrawn is the last packet in the figure. The document draws 10.
const lastDrawn = 14

// packetFigure plots packets over time. Marked packets are drawn on top.
func (r *reactions) packetFigure() *chart.Figure {
	return r.figure("Packets of "+r.Flow+", counted from the first marked one", "packet", func(run *reaction) []chart.Line {
		sent := chart.Line{Name: "sent", Dots: true, Style: chart.Style{Over: 1}}
		marked := chart.Line{Name: "sent, and marked on the way", Dots: true, Style: chart.Style{Colour: 1, Dash: 1}}
		for _, p := range run.Packets {
			if p.Number < 0 || p.Number > lastDrawn {
				continue
			}
			sent.Add(micros(p.Sent), float64(p.Number))
			if p.Marked {
				marked.Add(micros(p.Sent), float64(p.Number))
			}
		}
		return []chart.Line{sent, marked}
	})
}

// rateFigure plots the sender's rate over time, as steps.
func (r *reactions) rateFigure() *chart.Figure {
	return r.figure("Rate of "+r.Flow, "rate [Gbit/s]", func(run *reaction) []chart.Line {
		rate := chart.Line{Name: "rate"}
		for i, step := range run.Rates {
			if i > 0 {
				rate.Add(micros(step.At), gigabits(run.Rates[i-1].Rate))
			}
			rate.Add(micros(step.At), gigabits(step.Rate))
		}
		rate.Add(micros(r.duration), gigabits(run.Rates[len(run.Rates)-1].Rate))
		return []chart.Line{rate}
	})
}
