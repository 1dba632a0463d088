package topology

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// varyField is the setting that `run` varies:
// {key: nic.pacing, values: [off, bucket]}.
func varyField() field[form] {
	return field[form]{
		meta: meta{key: "vary", doc: "a key as `rackfab sweep --set` takes it, and the values that `run` compares", fixed: true},
		schema: schema{
			"type": "object", "additionalProperties": false, "required": []string{"key", "values"},
			"properties": schema{
				"key":    schema{"type": "string", "minLength": 1},
				"values": schema{"type": "array", "minItems": 1, "uniqueItems": true, "items": schema{"type": []string{"string", "number"}}},
			},
		},
		read: func(f *form, n *yaml.Node) error {
			v, err := readVary(n)
			if err == nil {
				f.Vary = v
			}
			return err
		},
		write: func(f *form) *yaml.Node {
			if f.Vary.Key == "" {
				return nil
			}
			m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			m.Content = append(m.Content, text("key"), text(f.Vary.Key), text("values"), flowList(f.Vary.Values))
			return m
		},
	}
}

func readVary(n *yaml.Node) (v Vary, err error) {
	if n.Kind != yaml.MappingNode || len(n.Content) != 4 {
		return v, errors.New("want a key and its values, like {key: nic.pacing, values: [off, bucket]}")
	}
	for i := 0; i < len(n.Content); i += 2 {
		switch key, value := n.Content[i].Value, n.Content[i+1]; key {
		case "key":
			v.Key = value.Value
		case "values":
			v.Values, err = scalars(value)
		default:
			err = fmt.Errorf("unknown key %q, want key and values", key)
		}
		if err != nil {
			return v, err
		}
	}
	if v.Key == "" || len(v.Values) == 0 {
		return v, errors.New("want a key and at least one value")
	}
	return v, nil
}

// scalars returns the values of a list. A repeated value is an error.
func scalars(n *yaml.Node) (list []string, err error) {
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Value == "" {
			return nil, fmt.Errorf("%s is no value", shown(item))
		}
		if slices.Contains(list, item.Value) {
			return nil, fmt.Errorf("value %s comes twice", item.Value)
		}
		list = append(list, item.Value)
	}
	return list, nil
}
