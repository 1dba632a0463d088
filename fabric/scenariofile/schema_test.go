package scenariofile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

const published = "../../docs/schema/scenario.v1.json"

func TestPublishedSchemaIsUpToDate(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date: run go generate ./fabric/scenariofile", published)
	}
}

// compiled is the published schema, ready to validate.
func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(published)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON returns a YAML file in the form that a JSON Schema validator takes.
func asJSON(t interface{ Fatalf(string, ...any) }, text string) any {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%v", err)
	}
	return jsonOf(n.Content[0])
}

func jsonOf(n *yaml.Node) any {
	switch {
	case n.Kind == yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = jsonOf(n.Content[i+1])
		}
		return m
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, jsonOf(item))
		}
		return list
	case n.ShortTag() == "!!null":
		return nil
	case n.ShortTag() == "!!str":
		return n.Value
	case n.ShortTag() == "!!bool":
		return n.Value == "true"
	}
	return json.Number(n.Value)
}

func TestSchemaAcceptsValidScenarios(t *testing.T) {
	s := compiled(t)
	texts := map[string]string{"sample": sample, "leaf-spine": leafSpine, "loaded": loaded}
	for _, name := range examples {
		text, _ := Builtin(name)
		manifest, err := Marshal(builtin(t, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name], texts["manifest of "+name] = string(text), string(manifest)
	}
	for name, text := range texts {
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, err := Marshal(parsedRandom(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(asJSON(t, string(text))); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSchemaRejectsInvalidValues(t *testing.T) {
	s := compiled(t)
	for _, c := range []struct{ old, with string }{
		{"seed: 7", "seed: -7"},
		{"seed: 7", "sead: 7"},
		{"name: sample\n", ""},
		{"name: sample", "name: a b"},
		{"duration: 1ms", "duration: 1"},
		{"duration: 1ms", "duration: 1parsec"},
		{"scheme: pcn", "scheme: tcp"},
		{"h0..h3: {", "h0.h3: {"},
		{"payload: 1000B", "payload: 1000"},
		{"payload: 1000B", "playload: 1000B"},
		{"payload: 1000B", "ack_every: 0"},
		{"buffer: 12MB", "pmax: 1.5"},
		{"buffer: 12MB", "lossless: [8]"},
		{"buffer: 12MB", "class8: {reserve: 1KB}"},
		{"buffer: 12MB", "class1: {alpha: 1/3}"},
		{"buffer: 12MB", "class1: {alpha: 0.3}"},
		{"buffer: 12MB", "class1: {limit: 1}"},
		{"buffer: 12MB", "class1: {quota: 1KB}"},
		{"buffer: 12MB", "class1.limit: 1KB"},
		{"buffer: 12MB", "class1: 1KB"},
		{"buffer: 12MB", "lossless: [3, 3]"},
		{"buffer: 12MB", "marking: {3: blue}"},
		{"buffer: 12MB", "marking: {9: red}"},
		{"buffer: 12MB", "weights: [1, 1]"},
		{"[s0, s1], rate: 100Gbps", "[s0]"},
		{"size: 1MB", "size: forever"},
		{"size: 1MB, ", ""},
		{"from: h1..h3", "from: []"},
		{"wmin: 0.01", "wmin: 0"},
		{"wmin: 0.01", "threshold: 1.1"},
		{"  pcn:", "  tcp:"},
	} {
		text := edited(t, c.old, c.with)
		if s.Validate(asJSON(t, text)) == nil {
			t.Errorf("the schema accepts %q", c.with)
		}
		if _, err := Parse("f", []byte(text)); err == nil {
			t.Errorf("the parser accepts %q", c.with)
		}
	}
}

// Every key of the published file is known to the parser in its place, and an
// unlisted key is unknown.
func TestParserAndSchemaHaveTheSameKeys(t *testing.T) {
	text, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Properties map[string]struct {
			Properties map[string]any
			Items      struct{ Properties map[string]any }
		}
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	checked := 0
	check := func(template string, published map[string]any) {
		for _, key := range append(keysOf(published), "nonsense") {
			_, err := Parse("f", fmt.Appendf(nil, template, key))
			known := !strings.Contains(fmt.Sprint(err), key+": unknown key")
			if known != (key != "nonsense") {
				t.Errorf("%s: known to the parser: %v", fmt.Sprintf(template, key), known)
			}
			checked++
		}
	}
	top := map[string]any{}
	for key := range file.Properties {
		top[key] = nil
	}
	check("%s: ", top)
	check("defaults: {%s: }", file.Properties["defaults"].Properties)
	check("schemes: {%s: }", file.Properties["schemes"].Properties)
	check("nics: {h0: {%s: }}", file.Defs["nic"].Properties)
	check("switches: {s0: {%s: }}", file.Defs["switch"].Properties)
	check("switches: {s0: {class5: {%s: }}}", file.Defs["class"].Properties)
	check("defaults: {link: {%s: }}", file.Defs["link"].Properties)
	params := 0
	for _, s := range schemeSections {
		check("schemes: {"+s.scheme+": {%s: }}", file.Defs[s.scheme].Properties)
		params += len(s.fields) + 1
	}
	check("links: [{%s: }]", file.Properties["links"].Items.Properties)
	check("flows: [{%s: }]", file.Properties["flows"].Items.Properties)
	check("bursts: [{%s: }]", file.Properties["bursts"].Items.Properties)
	check("workloads: [{%s: }]", file.Properties["workloads"].Items.Properties)
	check("collectives: [{%s: }]", file.Properties["collectives"].Items.Properties)
	if want := len(topFields) + len(defaultsFields) + len(schemesFields) + len(nicFields) + len(switchFields) + len(linkSettings) +
		len(classFields) + len(links.fields) + len(flows.fields) + len(bursts.fields) + len(workloads.fields) + len(collectives.fields) + params + 12; checked != want {
		t.Errorf("the file publishes %d keys, the parser reads %d", checked, want)
	}
}

func keysOf(m map[string]any) []string {
	var list []string
	for key := range m {
		list = append(list, key)
	}
	return list
}
