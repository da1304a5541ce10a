package template

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// ParseYAML reads a template in YAML, with the tags of CloudFormation. It refuses
// aliases and repeated keys, as CloudFormation and SAM do.
func ParseYAML(text []byte) (Template, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("template: it is empty")
	}
	value, err := plain(document.Content[0])
	if err != nil {
		return nil, err
	}
	// Through JSON, so that numbers are of one type.
	body, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return Parse(body)
}

func plain(n *yaml.Node) (any, error) {
	value, err := untagged(n)
	if err != nil || !strings.HasPrefix(n.Tag, "!") || strings.HasPrefix(n.Tag, "!!") {
		return value, err
	}
	switch name := strings.TrimPrefix(n.Tag, "!"); name {
	case "Ref", "Condition":
		return map[string]any{name: value}, nil
	case "GetAtt":
		if text, ok := value.(string); ok {
			id, attribute, _ := strings.Cut(text, ".")
			value = []any{id, attribute}
		}
		return map[string]any{"Fn::GetAtt": value}, nil
	default:
		return map[string]any{"Fn::" + name: value}, nil
	}
}

func untagged(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, twice := m[key]; twice || key == "<<" {
				return nil, fmt.Errorf("template: line %d: %q is repeated, or is a merge", n.Content[i].Line, key)
			}
			value, err := plain(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[key] = value
		}
		return m, nil
	case yaml.SequenceNode:
		s := []any{}
		for _, c := range n.Content {
			value, err := plain(c)
			if err != nil {
				return nil, err
			}
			s = append(s, value)
		}
		return s, nil
	case yaml.ScalarNode:
		if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
			return n.Value, nil
		}
		var value any
		err := n.Decode(&value)
		return value, err
	}
	return nil, fmt.Errorf("template: line %d: CloudFormation has no aliases", n.Line)
}
