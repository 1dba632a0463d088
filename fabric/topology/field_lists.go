package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
)

// namesField is a list of names and ranges: "h0, h3..h5" or [h0, h3..h5].
func namesField[T any](key, doc string, at func(*T) *[]string) field[T] {
	return field[T]{
		meta: meta{key: key, doc: doc + `: a name, a range like h2..h15, or several`}, schema: reference("names"),
		read: func(t *T, n *yaml.Node) error {
			names, err := parseNames(n)
			if err == nil {
				*at(t) = names
			}
			return err
		},
		write: func(t *T) *yaml.Node { return flowList(*at(t)) },
	}
}

func parseNames(n *yaml.Node) ([]string, error) {
	if isText(n) {
		return expandNames(n.Value)
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, fmt.Errorf("%s names no node, want names or ranges like h2..h15", shown(n))
	}
	items := make([]string, len(n.Content))
	for i, item := range n.Content {
		if !isText(item) {
			return nil, fmt.Errorf("%s is no name, want names or ranges like h2..h15", shown(item))
		}
		items[i] = item.Value
	}
	return expandNames(strings.Join(items, ","))
}

// schemesField is a list of schemes of package cc, without repeats.
func schemesField[T any](key, doc string, at func(*T) *[]string) field[T] {
	one := schemeField[string](key, doc, func(s *string) *string { return s })
	return field[T]{
		meta: meta{key: key, doc: doc, fixed: true}, schema: schema{"type": "array", "items": one.schema, "uniqueItems": true, "minItems": 1},
		read: func(t *T, n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
				return fmt.Errorf("%s is no list of schemes, want one like [pfc, pcn]", shown(n))
			}
			list := make([]string, len(n.Content))
			for i, item := range n.Content {
				if err := one.read(&list[i], item); err != nil {
					return err
				}
				if slices.Contains(list[:i], list[i]) {
					return fmt.Errorf("%s comes twice", list[i])
				}
			}
			*at(t) = list
			return nil
		},
		write: func(t *T) *yaml.Node {
			if len(*at(t)) == 0 {
				return nil
			}
			return flowList(*at(t))
		},
	}
}

// endpointsField holds the two ends of links.
func endpointsField() field[linkForm] {
	return field[linkForm]{
		meta: meta{key: "endpoints", doc: "the two ends; every name of the first is joined to every name of the second"}, schema: endpointsSchema(),
		read: func(l *linkForm, n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
				return fmt.Errorf("want a list of two ends, like [h0..h3, s0]")
			}
			var ends [2][]string
			for i, end := range n.Content {
				names, err := parseNames(end)
				if err != nil {
					return err
				}
				ends[i] = names
			}
			l.ends = ends
			return nil
		},
		write: func(l *linkForm) *yaml.Node {
			return flowList([]string{strings.Join(l.ends[0], ", "), strings.Join(l.ends[1], ", ")})
		},
	}
}

// losslessField is the list of classes under priority flow control.
func losslessField() field[SwitchSettings] {
	return field[SwitchSettings]{
		meta: meta{key: "lossless", doc: "traffic classes under priority flow control, 0 to 7; data is in class 3"}, schema: losslessSchema(),
		read: func(s *SwitchSettings, n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode {
				return fmt.Errorf("%s is no list of classes from 0 to %d", shown(n), classes)
			}
			list := []fabric.Priority{}
			for _, item := range n.Content {
				c, err := parseInteger(item, 0, classes)
				if err != nil {
					return err
				}
				if slices.Contains(list, fabric.Priority(c)) {
					return fmt.Errorf("class %d comes twice", c)
				}
				list = append(list, fabric.Priority(c))
			}
			s.Lossless = list
			return nil
		},
		write: func(s *SwitchSettings) *yaml.Node {
			list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, c := range s.Lossless {
				list.Content = append(list.Content, plain(strconv.Itoa(int(c))))
			}
			return list
		},
	}
}

// laws are the marking laws, and rewrites the rewrites of marks, that a class may be
// given.
var (
	laws     = []cc.Marking{cc.MarkNone, cc.MarkRED, cc.MarkNPECN, cc.MarkQCN}
	rewrites = []cc.Rewrite{cc.RewriteNone, cc.RewriteRTTX}
)

// byClassField maps single traffic classes to one of several words.
func byClassField[V ~string](key, doc string, words []V, at func(*SwitchSettings) *[fabric.Priorities]V) field[SwitchSettings] {
	return field[SwitchSettings]{
		meta: meta{key: key, doc: doc}, schema: byClassSchema(words),
		read: func(s *SwitchSettings, n *yaml.Node) error {
			if n.Kind != yaml.MappingNode {
				return fmt.Errorf("%s is no mapping from classes to words, like {3: %s}", shown(n), words[1])
			}
			var given [fabric.Priorities]V
			for i := 0; i < len(n.Content); i += 2 {
				class, err := parseInteger(n.Content[i], 0, classes)
				if err != nil {
					return err
				}
				word := n.Content[i+1]
				if !isText(word) || !slices.Contains(words, V(word.Value)) {
					return fmt.Errorf("%s is unknown, want one of %s", shown(word), listed(words))
				}
				if given[class] != "" {
					return fmt.Errorf("class %d comes twice", class)
				}
				given[class] = V(word.Value)
			}
			*at(s) = given
			return nil
		},
		write: func(s *SwitchSettings) *yaml.Node {
			m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			for class, word := range at(s) {
				if word != "" {
					m.Content = append(m.Content, plain(strconv.Itoa(class)), text(string(word)))
				}
			}
			return m
		},
	}
}

// maxWeight is the largest weight of the scheduler.
const maxWeight = 1000

// weightsField is the list of scheduler weights.
func weightsField() field[SwitchSettings] {
	return field[SwitchSettings]{
		meta: meta{key: "weights", doc: "deficit-round-robin weights of the classes 0 to 7; 0 is strict priority"}, schema: weightsSchema(),
		read: func(s *SwitchSettings, n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode || len(n.Content) != fabric.Priorities {
				return fmt.Errorf("want a list of %d weights from 0 to %d", fabric.Priorities, maxWeight)
			}
			var weights [fabric.Priorities]int
			for i, item := range n.Content {
				w, err := parseInteger(item, 0, maxWeight)
				if err != nil {
					return err
				}
				weights[i] = int(w)
			}
			s.Weights = weights
			return nil
		},
		write: func(s *SwitchSettings) *yaml.Node {
			list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, w := range s.Weights {
				list.Content = append(list.Content, plain(strconv.Itoa(w)))
			}
			return list
		},
	}
}

func flowList(items []string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, item := range items {
		list.Content = append(list.Content, text(item))
	}
	return list
}
