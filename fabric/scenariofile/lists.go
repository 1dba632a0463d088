package scenariofile

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
)

// array is the shape of a list in a file.
type array struct {
	want     string // describes the list for errors, "a list of schemes, like [pfc, pcn]"
	min, max int    // number of items; a max of 0 is no limit
}

// list is the codec of a list. label names an item that must not be repeated; nil
// allows repeats. An empty list is read as nil.
func list[V any](a array, item codec[V], label func(V) string) codec[[]V] {
	s := schema{"type": "array", "items": item.schema}
	for key, n := range map[string]int{"minItems": a.min, "maxItems": a.max} {
		if n > 0 {
			s[key] = n
		}
	}
	if label != nil {
		s["uniqueItems"] = true
	}
	return codec[[]V]{
		schema: s,
		read: func(n *yaml.Node) ([]V, error) {
			if n.Kind != yaml.SequenceNode || len(n.Content) < a.min || a.max > 0 && len(n.Content) > a.max {
				return nil, fmt.Errorf("want %s", a.want)
			}
			return readItems(n.Content, item, label)
		},
		write: func(list []V) *yaml.Node { return flowList(list, item.write) },
	}
}

func readItems[V any](nodes []*yaml.Node, item codec[V], label func(V) string) (list []V, err error) {
	seen := map[string]bool{}
	for _, n := range nodes {
		v, err := item.read(n)
		if err != nil {
			return nil, err
		}
		if list = append(list, v); label == nil {
			continue
		}
		if seen[label(v)] {
			return nil, fmt.Errorf("%s is listed twice", label(v))
		}
		seen[label(v)] = true
	}
	return list, nil
}

// entry is one key of a mapping and its value.
type entry[K, V any] struct {
	key   K
	value V
}

// mapping is the codec of a mapping, in the order of the file. label names a key for
// errors, keys is the pattern of the keys.
func mapping[K comparable, V any](want, label, keys string, key codec[K], value codec[V]) codec[[]entry[K, V]] {
	return codec[[]entry[K, V]]{
		schema: schema{"type": "object", "additionalProperties": value.schema, "propertyNames": schema{"pattern": keys}},
		read: func(n *yaml.Node) (list []entry[K, V], err error) {
			if n.Kind != yaml.MappingNode {
				return nil, fmt.Errorf("want %s, not %s", want, shown(n))
			}
			seen := map[K]bool{}
			for i := 0; i < len(n.Content); i += 2 {
				k, err := key.read(n.Content[i])
				if err != nil {
					return nil, fmt.Errorf("%s %w", label, err)
				}
				v, err := value.read(n.Content[i+1])
				if err != nil {
					return nil, fmt.Errorf("%s %s: %w", label, n.Content[i].Value, err)
				}
				if seen[k] {
					return nil, fmt.Errorf("%s %s is listed twice", label, n.Content[i].Value)
				}
				seen[k] = true
				list = append(list, entry[K, V]{k, v})
			}
			return list, nil
		},
		write: func(list []entry[K, V]) *yaml.Node {
			n := flow(yaml.MappingNode)
			for _, e := range list {
				n.Content = append(n.Content, key.write(e.key), value.write(e.value))
			}
			return n
		},
	}
}

// object is the codec of a section that is a single value. Errors of all its keys are
// joined.
func object[T any](fields []field[T], def T) codec[T] {
	return codec[T]{
		schema: section(fields, def),
		read: func(n *yaml.Node) (T, error) {
			v := def
			var c collector
			readSection(&c, n, "", fields, &v, newSource("", n.Line))
			errs := make([]error, len(c.list))
			for i, f := range c.list {
				errs[i] = errors.New(strings.TrimPrefix(f.Key+": ", ": ") + f.What)
			}
			return v, errors.Join(errs...)
		},
		write: func(v T) *yaml.Node { return written(fields, &v) },
	}
}

// nodeList is a list of names and ranges: "h0, h3..h5" or [h0, h3..h5].
var nodeList = codec[[]string]{
	limits: "as a name, a range like h2..h15, or a list of these", schema: reference("names"),
	read: func(n *yaml.Node) ([]string, error) {
		if isText(n) {
			return topology.Names(n.Value)
		}
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			return nil, fmt.Errorf("%s names no node, want names or ranges like h2..h15", shown(n))
		}
		items := make([]string, len(n.Content))
		for i, item := range n.Content {
			if !isText(item) {
				return nil, fmt.Errorf("invalid name %s, want names or ranges like h2..h15", shown(item))
			}
			items[i] = item.Value
		}
		return topology.Names(strings.Join(items, ","))
	},
	write: func(names []string) *yaml.Node { return flowList(names, text) },
}

// flowList returns a list that is written on one line.
func flowList[V any](list []V, write func(V) *yaml.Node) *yaml.Node {
	n := flow(yaml.SequenceNode)
	for _, v := range list {
		n.Content = append(n.Content, write(v))
	}
	return n
}

// flow returns an empty list or mapping that is written on one line.
func flow(kind yaml.Kind) *yaml.Node { return &yaml.Node{Kind: kind, Style: yaml.FlowStyle} }
