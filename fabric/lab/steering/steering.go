// Package steering generates random changes to a rack from a seed, for tests. It
// knows which changes are possible, and not their effects.
package steering

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Source generates random changes for a scenario.
type Source struct {
	*rand.Rand
	nics, switches, links []string
	flows                 []string
	made                  int // number of bursts and posts generated so far
}

// New returns a source that draws from seed.
func New(s *topology.Scenario, seed uint64) *Source {
	g := &Source{Rand: rand.New(rand.NewPCG(seed, 0))}
	for _, n := range s.Nodes {
		if n.Kind == topology.NIC {
			g.nics = append(g.nics, n.Name)
		} else {
			g.switches = append(g.switches, n.Name)
		}
	}
	for i := range s.Links {
		g.links = append(g.links, s.LinkName(i))
	}
	for _, f := range s.Flows {
		g.flows = append(g.flows, f.Name)
	}
	return g
}

func pick[T any](g *Source, list []T) T { return list[g.IntN(len(list))] }

// Change draws a change at the given instant. It is valid for the scenario, but
// perhaps not at its instant: it may stop a flow before the flow starts.
func (g *Source) Change(at unit.Time) topology.Change {
	c := topology.Change{At: at}
	switch k := g.IntN(26); {
	case k < 7 || len(g.flows) == 0:
		c.Verb, c.Burst = topology.ChangeBurst, g.burst()
	case k < 9:
		c.Verb, c.Flow = topology.ChangeStopFlow, pick(g, g.flows)
	case k < 11:
		c.Verb, c.Link = topology.ChangeLinkDown, pick(g, g.links)
	case k < 14:
		c.Verb, c.Link = topology.ChangeLinkUp, pick(g, g.links)
	case k < 15:
		c.Verb, c.Nodes = topology.ChangeFreeze, []string{pick(g, g.nics)}
	case k < 17:
		c.Verb, c.Nodes = topology.ChangeThaw, []string{pick(g, g.nics)}
	case k < 20:
		c.Verb, c.Set = topology.ChangeSet, g.set()
	case k < 24:
		c.Verb, c.Post = topology.ChangePost, g.post()
	default:
		c.Verb, c.Scheme = topology.ChangeScheme, g.scheme()
	}
	return c
}

// scheme draws a scheme for all flows, or for the flows to one NIC.
func (g *Source) scheme() topology.SchemeSpec {
	spec := topology.SchemeSpec{Name: pick(g, cc.Schemes).Name, Flows: "*->*"}
	if g.IntN(2) == 0 {
		spec.Flows = "h*->" + pick(g, g.nics)
	}
	return spec
}

// post draws commands from a few NICs to one or two others.
func (g *Source) post() topology.PostSpec {
	names := slices.Clone(g.nics)
	g.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	to := 1 + g.IntN(min(2, len(names)-1))
	p := topology.PostSpec{
		Name: fmt.Sprintf("p%d", g.made), Verb: pick(g, []string{"put", "get", "send"}), To: names[:to],
		From: names[to : to+1+g.IntN(min(3, len(names)-to))], Size: unit.Bytes(1 + g.IntN(64<<10)),
		Count: 1 + g.IntN(5), Every: unit.Time(g.IntN(20)) * unit.Microsecond,
	}
	g.made++
	return p
}

func (g *Source) burst() topology.BurstSpec {
	names := slices.Clone(g.nics)
	g.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	b := topology.BurstSpec{
		Name: fmt.Sprintf("b%d", g.made), From: names[1 : 2+g.IntN(min(4, len(names)-1))], To: names[0],
		Flows: 1 + g.IntN(3), Size: unit.Bytes(1 + g.IntN(64<<10)),
		Class: pick(g, []fabric.Priority{topology.DataClass, topology.DataClass, 1, 4}),
	}
	g.made++
	g.flows = append(g.flows, b.Name)
	return b
}

func (g *Source) set() topology.Setting {
	name := pick(g, g.switches)
	switch g.IntN(13) {
	case 0:
		return topology.Setting{Key: name + ".pfc.xoff", Value: fmt.Sprintf("%dKB", 20+g.IntN(80))}
	case 1:
		return topology.Setting{Key: name + ".xon_offset", Value: fmt.Sprintf("%dKB", g.IntN(18))}
	case 2:
		return topology.Setting{Key: "switch.pmax", Value: fmt.Sprintf("0.%d", g.IntN(100))}
	case 3:
		return topology.Setting{Key: name + ".kmin", Value: fmt.Sprintf("%dKB", g.IntN(100))}
	case 4:
		return g.flaw(pick(g, g.links))
	case 5:
		return g.flaw(strings.Replace(pick(g, g.links), "--", "->", 1))
	case 6:
		return topology.Setting{Key: pick(g, g.nics) + ".timeout", Value: fmt.Sprintf("%dus", 100+g.IntN(1000))}
	case 7:
		return topology.Setting{Key: name + ".class1.limit", Value: fmt.Sprintf("%dKB", 20+g.IntN(80))}
	case 8:
		return topology.Setting{Key: "switch.class3.alpha", Value: pick(g, []string{"1/16", "1/4", "2"})}
	case 9:
		return topology.Setting{Key: pick(g, []string{name, "switch", name + ".class3"}) + ".routing", Value: pick(g, balance.Names)}
	case 10:
		return topology.Setting{Key: name + ".detection", Value: fmt.Sprintf("%dus", g.IntN(60))}
	case 11:
		return topology.Setting{Key: "switch.flowlet_gap", Value: fmt.Sprintf("%dus", g.IntN(60))}
	default:
		return topology.Setting{Key: "nic.ack_every", Value: fmt.Sprint(1 + g.IntN(4))}
	}
}

// flaw draws an error rate for a link or for one of its directions.
func (g *Source) flaw(link string) topology.Setting {
	return topology.Setting{Key: link + "." + pick(g, []string{"loss", "corrupt"}), Value: fmt.Sprintf("0.%02d", g.IntN(20))}
}

// Extend adds n changes to the scenario, uniformly distributed over span from from on.
// It draws invalid changes again.
func (g *Source) Extend(s *topology.Scenario, from, span unit.Time, n int) *topology.Scenario {
	for added := 0; added < n; {
		if next, err := scenariofile.Extend(s, g.Change(from+unit.Time(g.Int64N(int64(span))))); err == nil {
			s, added = next, added+1
		}
	}
	return s
}
