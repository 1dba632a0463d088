package scenariofile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Tuning is a Tune of the machine of a node. The planner sets its instant.
type Tuning struct {
	Node int
	fabric.Change
}

// set applies a setting to the nodes or links that it names, and records the tunings.
func (st *State) set(set topology.Setting, at place) {
	part, leaf := cut(set.Key)
	value := st.b.value(set, at)
	if value == nil {
		return
	}
	ways := st.b.directions(part)
	for _, d := range ways {
		if !st.setLink(d, len(ways) == 1, leaf, value, at) {
			return
		}
	}
	switch {
	case len(ways) > 0:
	case strings.Contains(part, "->") || strings.Contains(part, "--") && !st.b.known(part):
		st.b.fault(at, "unknown link %s, want A->B or A--B with the names of two neighbours", part)
	default:
		part, leaf = ungroup(part, leaf)
		st.setNodes(part, leaf, value, at)
	}
}

// known reports whether a node has that name.
func (b *builder) known(name string) bool {
	_, ok := b.index[name]
	return ok
}

// value parses the value of a setting. It returns nil, and adds a fault, if the value
// is not valid YAML.
func (b *builder) value(s topology.Setting, at place) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s.Value), &doc); err != nil || len(doc.Content) != 1 || aliased(&doc) != nil {
		b.fault(at, "invalid value %q: must be a YAML value without anchors", s.Value)
		return nil
	}
	return doc.Content[0]
}

// setLink sets an error rate of one direction of a link, and records it at the node
// that receives from it. single reports whether the setting names this direction alone.
func (st *State) setLink(d topology.Direction, single bool, leaf string, value *yaml.Node, at place) bool {
	fields, l := linkSettings, &st.Links[d.Link]
	if single {
		fields = errorRates(d.Way)
	}
	t, ok := tune(st.b, fields, l, leaf, value, at)
	if ok {
		t.Node, t.Port = st.b.s.Receiver(d)
		_, t.Share = find(errorRates(d.Way), leaf).value(l)
		st.Tunings = append(st.Tunings, t)
	}
	return ok
}

// setNodes sets a setting of the nodes that the part of a key names.
func (st *State) setNodes(part, leaf string, value *yaml.Node, at place) {
	var unused []string // switches without a converter
	for _, i := range st.b.tunedNodes(part, at) {
		n, t, ok := &st.Nodes[i], Tuning{}, false
		if n.Kind == topology.Switch && leaf == "rttx_d" && !st.b.s.Converts(i) {
			unused = append(unused, n.Name)
			continue
		}
		if t, ok = tune(st.b, nodeFields[n.Kind], n, leaf, value, at); !ok {
			return
		}
		if t.Node = i; n.Kind == topology.Switch {
			st.complete(i, leaf, &t)
		}
		st.Tunings = append(st.Tunings, t)
	}
	if len(st.Tunings) == 0 && unused != nil {
		st.b.fault(at, "%s", nothingConverts(&st.b.s, unused))
	}
}

// complete adds to a tuning of a switch what follows from the switch's other settings.
func (st *State) complete(node int, leaf string, t *Tuning) {
	set := &st.Nodes[node].Switch
	class, _, _ := strings.Cut(leaf, ".")
	switch t.Named = isClassKey(class); {
	case t.Named:
		t.Classes = 1 << (class[len(class)-1] - '0')
		if t.Key == fabric.KeyAlphaShift {
			t.Value = -t.Value // alpha is 2^-shift
		}
		if t.Key == fabric.KeyQueueLimit || t.Key == fabric.KeyQueueLimitLastHop {
			st.completeLimit(node, fabric.Priority(class[len(class)-1]-'0'), t)
		}
	case t.Key == fabric.KeyRTTIncrement:
		set.RTTX.D = st.b.s.Increment(set.RTTX.D, st.ends[node])
		t.Value = int64(set.RTTX.D)
	default:
		t.Classes = set.Affected(t.Key)
	}
}

// tune sets a setting of a part, and returns its key and value at a machine.
func tune[T any](b *builder, fields []field[T], part *T, leaf string, value *yaml.Node, at place) (t Tuning, ok bool) {
	f := find(fields, leaf)
	if f == nil || f.live == 0 {
		fault := "%q cannot change while the rack runs, want one of %s"
		if f == nil {
			fault = "unknown setting %q, want one of %s"
		}
		b.fault(at, fault, leaf, strings.Join(settingKeys(metas(fields), func(m *meta) bool { return m.live != 0 }), ", "))
		return t, false
	}
	if !b.accept(f.read(part, value), at) {
		return t, false
	}
	t.Verb, t.Key = fabric.Tune, f.live
	t.Value, t.Share = f.value(part)
	return t, true
}

// tunedNodes returns the nodes that the part of a setting's key names.
func (b *builder) tunedNodes(part string, at place) (nodes []int) {
	if kind := topology.NodeKind(part); nodeFields[kind] != nil {
		for i := range b.s.NodesOf(kind) {
			nodes = append(nodes, i)
		}
		if len(nodes) > 0 {
			return nodes
		}
	}
	names, err := topology.Names(part)
	if !b.accept(err, at) {
		return nil
	}
	if found, ok := b.find(names, at); ok {
		return found
	}
	return nil
}

// groups are optional prefixes of settings: s1.pfc.xoff is the same as s1.xoff.
var groups = map[string][]string{
	"pfc": {"xoff", "xon_offset", "alpha_shift", "quanta"},
	"ecn": {"kmin", "kmax", "pmax"},
}

// ungroup moves the last part of a node's key to the setting, unless it is the group of
// the setting. A setting with any other prefix is unknown.
func ungroup(part, leaf string) (node, setting string) {
	dot := strings.LastIndexByte(part, '.')
	if dot <= 0 || part[dot-1] == '.' { // no group; or the dots of a range
		return part, leaf
	}
	node, group := part[:dot], part[dot+1:]
	if !slices.Contains(groups[group], leaf) {
		leaf = group + "." + leaf
	}
	return node, leaf
}
