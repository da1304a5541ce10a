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
	if err := writeOut(&document); err != nil {
		return nil, err
	}
	var value map[string]any
	if err := document.Decode(&value); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if len(value) == 0 {
		return nil, fmt.Errorf("template: it is empty")
	}
	body, err := json.Marshal(value) // so that numbers are of one type
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return Parse(body)
}

// writeOut replaces the short tags: "!Ref X" by "Ref: X", and "!Sub X" by "Fn::Sub: X".
func writeOut(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Tag == "!!merge" {
		return fmt.Errorf("template: line %d: CloudFormation has no aliases, and no merges", n.Line)
	}
	for _, inner := range n.Content {
		if err := writeOut(inner); err != nil {
			return err
		}
	}
	name, short := strings.CutPrefix(n.Tag, "!")
	if !short || strings.HasPrefix(name, "!") {
		return nil
	}
	value := *n
	value.Tag = ""
	if value.Kind == yaml.ScalarNode {
		value.SetString(n.Value)
	}
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	if id, attribute, ok := strings.Cut(value.Value, "."); ok && name == "Fn::GetAtt" {
		if err := value.Encode([]string{id, attribute}); err != nil {
			return err
		}
	}
	key := &yaml.Node{}
	key.SetString(name)
	*n = yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, &value}, Line: n.Line}
	return nil
}
