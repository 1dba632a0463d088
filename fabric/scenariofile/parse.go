// Package scenariofile is the text form of a scenario. It parses, completes and
// validates a YAML file, with settings that override its keys, and writes the manifest
// that reproduces a run. One table of fields per section serves the parser, the
// manifest, the JSON Schema, the settings and the lists of parameters.
//
//	codec, field      how values and keys are read, written and described
//	sections, file    the sections of a file, in the order in which they are read
//	links, flows, workloads, commands, changes   list sections: the keys of an entry,
//	                  and what it adds to the model
//	nodes, *_fields   nodes, and the keys of nodes, traffic classes and schemes
//	validate          conditions across keys; warnings: likely mistakes
//	settings, tuning, state   settings of files and of the running rack
//	derive, marshal   scenarios derived from others, and the manifest
package scenariofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/topology"
)

// MaxFile is the largest scenario file, in bytes. Imported programs of many steps are
// the longest; a parsed file takes up to a hundred times its size of memory.
const MaxFile = 64 << 20

// Parse parses a scenario file, expands its ranges, bursts and defaults, and
// validates it. file is the name used in faults; Parse opens no file. The error is a
// *Faults with all errors.
func Parse(file string, data []byte) (*topology.Scenario, error) {
	return ParseWith(file, data, nil)
}

// document returns the root of the only YAML document in data. It returns nil, and
// adds a fault, if there is no such document.
func (b *builder) document(data []byte) *yaml.Node {
	if len(data) > MaxFile {
		b.fault(place{line: 1}, "larger than %d bytes, the largest scenario", MaxFile)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := decoder.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		b.fault(place{line: 1}, "the file is empty, want a scenario")
		return nil
	case err != nil:
		b.syntax(err)
		return nil
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		b.fault(place{line: max(more.Line, 1)}, "a second YAML document follows, want one scenario")
		return nil
	}
	if n := aliased(&doc); n != nil {
		b.fault(place{line: n.Line}, "anchors and aliases are not supported, use a range or defaults")
		return nil
	}
	return doc.Content[0]
}

// syntax reports an error of the YAML decoder, "yaml: line 3: message".
func (b *builder) syntax(err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, after, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, message = n, after
			}
		}
	}
	b.fault(place{line: line}, "invalid YAML: %s", message)
}

// aliased returns the first node that is an alias or has an anchor.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, child := range n.Content {
		if found := aliased(child); found != nil {
			return found
		}
	}
	return nil
}

// readSection reads a mapping into t by a table of fields, and records the place of
// each key in src. An invalid value is a fault and leaves its field unchanged.
func readSection[T any](c *collector, n *yaml.Node, key string, fields []field[T], t *T, src *source) {
	var later []func()
	for k, v := range entries(c, n, place{key, n.Line}) {
		at := place{join(key, k.Value), k.Line}
		f := find(fields, k.Value)
		if f == nil || strings.Contains(k.Value, ".") {
			c.fault(at, "unknown key, want one of %s", keyNames[T](fields))
			continue
		}
		src.given[f.key] = at
		if f.inner != nil {
			readInner(c, v, f.inner, t, src, at)
			continue
		}
		read := func() { c.accept(f.read(t, v), at) }
		if f.first {
			read()
		} else {
			later = append(later, read)
		}
	}
	for _, read := range later {
		read()
	}
	for _, f := range fields {
		if f.required && !src.has(f.key) {
			c.fault(place{join(key, f.key), n.Line}, "is missing: %s", f.description())
		}
	}
}

// readInner reads a nested section at a place.
func readInner[T any](c *collector, n *yaml.Node, fields []field[T], t *T, src *source, at place) {
	in := newSource(at.key, at.line)
	readSection(c, n, at.key, fields, t, in)
	outer := at.key[strings.LastIndexByte(at.key, '.')+1:]
	for _, f := range fields {
		if in.has(f.key) {
			src.given[join(outer, f.key)] = in.of(f.key)
		}
		for _, other := range f.excludes {
			if in.has(f.key) && in.has(other) {
				c.fault(in.of(f.key), "cannot be combined with %s", other)
			}
		}
	}
}

// entries iterates over the keys and values of a mapping; an empty node has none. A
// node of another kind is a fault, and so is a repeated key.
func entries(c *collector, n *yaml.Node, at place) func(yield func(k, v *yaml.Node) bool) {
	return func(yield func(k, v *yaml.Node) bool) {
		if isNull(n) {
			return
		}
		if n.Kind != yaml.MappingNode {
			c.fault(at, "want a mapping, like {key: value}, not %s", shown(n))
			return
		}
		first := map[string]int{}
		for i := 0; i < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if !isText(k) {
				c.fault(place{at.key, k.Line}, "invalid key %s, want text", shown(k))
				continue
			}
			if line, ok := first[k.Value]; ok {
				c.fault(place{join(at.key, k.Value), k.Line}, "duplicate key, first given on line %d", line)
				continue
			}
			first[k.Value] = k.Line
			if !yield(k, v) {
				return
			}
		}
	}
}

// items returns the elements of a list, each with its path; an empty node has none. A
// node of another kind is a fault.
func items(c *collector, n *yaml.Node, key string) []item {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		c.fault(place{key, n.Line}, "want a list, not %s", shown(n))
		return nil
	}
	list := make([]item, len(n.Content))
	for i, node := range n.Content {
		list[i] = item{node, fmt.Sprintf("%s[%d]", key, i)}
	}
	return list
}

// item is an element of a list and its path.
type item struct {
	node *yaml.Node
	key  string
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
