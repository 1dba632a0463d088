package scenariofile

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
)

// schema is a JSON Schema, or a part of one.
type schema = map[string]any

//go:generate go run ../../docs/internal/schema ../../docs/schema/scenario.v1.json

// Schema returns the JSON Schema (draft 2020-12) of the scenario file, generated from
// the tables of the parser. The parser rejects everything that the schema rejects,
// and also checks conditions across keys.
func Schema() ([]byte, error) {
	top := section(topFields, form{Scenario: topology.DefaultScenario()})
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "rackfab scenario, version 1"
	top["anyOf"] = []schema{{"required": []string{"topology"}}, {"required": rackSections}}
	defs := schema{
		"nic":    orNull(nicSchema()),
		"switch": orNull(section(switchFields, topology.DefaultSwitch())),
		"link":   orNull(section(linkSettings, topology.DefaultLink())),
		"class":  orNull(section(classFields, topology.ClassSettings{})),
		"names":  namesSchema(),
	}
	for _, s := range schemeSections {
		defs[s.scheme] = orNull(section(s.fields, cc.Default()))
	}
	top["$defs"] = defs
	text, err := json.MarshalIndent(top, "", "  ")
	return append(text, '\n'), err
}

// nicSchema returns the schema of a NIC's settings, including the defaults of its
// engine.
func nicSchema() schema {
	s := section(nicFields, topology.DefaultNIC())
	engine := section(engineFields, topology.DefaultEngine())
	for key, property := range engine["properties"].(schema) {
		s["properties"].(schema)[key] = property
	}
	return s
}

// section returns the schema of a table of fields. def holds the defaults.
func section[T any](fields []field[T], def T) schema {
	properties, required := schema{}, []string{}
	for _, f := range fields {
		s := schema{"description": f.description()}
		for key, value := range f.schema {
			s[key] = value
		}
		if f.required {
			required = append(required, f.key)
		} else if value := f.write(&def); value != nil && f.accepts(def, value) {
			s["default"] = generic(value)
		}
		properties[f.key] = s
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// accepts reports whether a file may contain the default. A zero that stands for "no
// default" is not allowed in a file.
func (f field[T]) accepts(def T, value *yaml.Node) bool { return f.read(&def, value) == nil }

// generic returns the value of a node in the types of encoding/json.
func generic(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, generic(item))
		}
		return list
	case yaml.MappingNode:
		m := schema{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = generic(n.Content[i+1])
		}
		return m
	default:
		return genericScalar(n)
	}
}

func genericScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!str":
		return n.Value
	case "!!bool":
		return n.Value == "true"
	}
	return json.Number(n.Value)
}

func reference(def string) schema { return schema{"$ref": "#/$defs/" + def} }

// orNull allows an empty section, as in "h0..h3:".
func orNull(s schema) schema {
	s["type"] = []string{"object", "null"}
	return s
}

// namesPattern matches a comma-separated list of names and ranges.
const namesPattern = "^" + rangePattern + "(," + rangePattern + ")*$"

const rangePattern = `\s*` + topology.NamePattern + `(\.\.` + topology.NamePattern + `)?\s*`

func namesSchema() schema {
	one := schema{"type": "string", "pattern": namesPattern}
	return schema{"anyOf": []schema{one, {"type": "array", "minItems": 1, "items": one}}}
}

func byName(def string) schema {
	return schema{"propertyNames": schema{"pattern": namesPattern}, "additionalProperties": reference(def)}
}
