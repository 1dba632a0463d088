// Package templates makes racks of common shapes from a few numbers: the nodes, and which of
// them are linked. It knows neither the model of a scenario nor its text form; package
// scenariofile reads the numbers and adds nodes and links to a scenario.
package templates

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Names of templates.
const (
	Star      = "star"
	LeafSpine = "leaf-spine"
	FatTree   = "fat-tree"
	Rail      = "rail"
	Dragonfly = "dragonfly"
)

// template is a shape: the keys of a Spec that it uses beside those of all, their defaults, and
// its construction.
type template struct {
	name  string
	keys  []string
	def   Spec
	build func(*Spec) (*Rack, []Fault)
}

// all lists the templates.
var all = []template{
	{Star, []string{"hosts"}, Spec{Hosts: 8}, (*Spec).star},
	{
		LeafSpine,
		[]string{"leaves", "hosts", "spines", "oversubscription", "parallel", "uplink_rate", "uplink_delay"},
		Spec{Leaves: 4, Hosts: 4, Parallel: 1},
		(*Spec).leafSpine,
	},
	{
		FatTree,
		[]string{"k", "tiers", "hosts", "oversubscription", "parallel", "uplink_rate", "uplink_delay"},
		Spec{K: 4, Tiers: 3, Parallel: 1},
		(*Spec).fatTree,
	},
	{
		Rail,
		[]string{"servers", "nics", "pods", "spines", "oversubscription", "parallel", "uplink_rate", "uplink_delay", "local_switch", "local_rate", "local_delay"},
		Spec{Servers: 4, NICs: 4, Pods: 1, Parallel: 1, LocalSwitch: true, LocalDelay: 100 * unit.Nanosecond},
		(*Spec).rail,
	},
	{
		Dragonfly,
		[]string{"hosts", "routers", "global_links", "groups", "uplink_rate", "uplink_delay", "global_rate", "global_delay"},
		Spec{Hosts: 2, Routers: 4, GlobalLinks: 2},
		(*Spec).dragonfly,
	},
}

// common are the keys of all templates.
var common = []string{"template", "rate", "delay", "mtu"}

// Names returns the names of the templates.
func Names() (list []string) {
	for _, t := range all {
		list = append(list, t.name)
	}
	return list
}

// Keys returns the keys of a scenario file's section topology that apply to a template, or nil
// if there is none of that name.
func Keys(name string) []string {
	if t := find(name); t != nil {
		return slices.Concat(common, t.keys)
	}
	return nil
}

// Defaults returns the template of that name with its default numbers. The name must exist.
func Defaults(name string) Spec {
	s := find(name).def
	s.Template = name
	return s
}

func find(name string) *template {
	i := slices.IndexFunc(all, func(t template) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// NoSpines is the value of Spec.Spines for rails that no spine connects.
const NoSpines = -1

// Spec holds the numbers of a template. Those that the template does not use are ignored.
// Rate and Delay, and the rates and delays of the tiers that exist, must be above 0.
type Spec struct {
	Template string

	Hosts   int // below each leaf, edge switch or router, or the star's switch; in a fat tree 0 for K/2
	Leaves  int
	Spines  int // 0: as many as Oversubscription needs
	K       int // ports of each switch of a fat tree, even
	Tiers   int // of a fat tree's switches: 2 or 3
	Servers int // of each pod
	NICs    int // of each server; the number of rails
	Pods    int // of rails
	Routers int // of each group of a dragonfly
	// GlobalLinks is the number of links of each router to other groups. Groups is 0 for as many as
	// one link between each two allows: Routers * GlobalLinks + 1.
	GlobalLinks, Groups int
	// Parallel is the number of links between two switches of neighbouring tiers.
	Parallel int
	// Oversubscription is the rate of the hosts below a switch divided by the rate of its links
	// to the next tier. 0: not given.
	Oversubscription float64
	// LocalSwitch adds a switch within each server, and one in front of each of its NICs.
	LocalSwitch bool

	// Links of hosts, between switches, within servers, and between groups.
	Rate, UplinkRate, LocalRate, GlobalRate     unit.Rate
	Delay, UplinkDelay, LocalDelay, GlobalDelay unit.Time
	MTU                                         unit.Bytes // of all links; 0: not given
}

// Fault is an invalid number of a Spec.
type Fault struct {
	Key  string // as in the section topology of a scenario file
	Text string // what is wrong, and what is allowed
}

func fault(key, format string, args ...any) []Fault {
	return []Fault{{key, fmt.Sprintf(format, args...)}}
}

// Rack returns the rack of a template, or its faults. The template must exist.
func (s *Spec) Rack() (*Rack, []Fault) { return find(s.Template).build(s) }
