package terraform

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A Resource is an evaluated resource, or one of several by count or for_each.
type Resource struct {
	Address string // module.orders.aws_sqs_queue.this
	Type    string
	Body    Body

	prevented bool // its destruction, by prevent_destroy
	data      bool
}

// A Body has the arguments of a resource or a block that are not null.
type Body struct {
	Attributes map[string]cty.Value
	Blocks     map[string][]Body
}

// identities are the attributes that refer to a resource. Their values say so, because the
// attributes of AWS are only known after a deployment.
var identities = map[string][]string{
	"aws_apigatewayv2_api":         {"api_endpoint", "execution_arn", "id"},
	"aws_apigatewayv2_integration": {"id"},
	"aws_cloudwatch_log_group":     {"arn", "name"},
	"aws_dynamodb_table":           {"arn", "name"},
	"aws_iam_role":                 {"arn", "name"},
	"aws_lambda_function":          {"arn", "function_name", "invoke_arn"},
	"aws_sns_topic":                {"arn"},
	"aws_sqs_queue":                {"arn", "name", "url"},
	"data.aws_caller_identity":     {"account_id"},
	"data.aws_region":              {"id"},
}

// resource evaluates a resource, and returns the value to which references refer.
func (i *instance) resource(name string) (cty.Value, error) {
	block := i.resources[name]
	one := func(index string, scope map[string]cty.Value) (cty.Value, error) {
		r := &Resource{Address: i.address + name + index, Type: block.Labels[0], data: block.Type == "data"}
		var err error
		if r.Body, err = i.body(block.Body, scope); err != nil {
			return cty.NilVal, err
		}
		for _, inner := range block.Body.Blocks {
			if inner.Type == "lifecycle" {
				r.prevented = i.isTrue(inner.Body, "prevent_destroy", false)
				if err := i.check(inner.Body, "precondition", scope); err != nil {
					return cty.NilVal, err
				}
			}
		}
		i.to.Resources = append(i.to.Resources, r)
		return r.value(), nil
	}
	if count := block.Body.Attributes["count"]; count != nil {
		n, err := i.evaluate(count.Expr, nil)
		if err != nil {
			return n, err
		}
		times, _ := n.AsBigFloat().Int64() // a count is small and whole
		values := []cty.Value{}
		for k := range times {
			v, err := one(fmt.Sprintf("[%d]", k), map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(k)})})
			if err != nil {
				return v, err
			}
			values = append(values, v)
		}
		return cty.TupleVal(values), nil
	}
	if forEach := block.Body.Attributes["for_each"]; forEach != nil {
		each, err := i.evaluate(forEach.Expr, nil)
		if err != nil {
			return each, err
		}
		values := map[string]cty.Value{}
		for it := each.ElementIterator(); it.Next(); {
			key, v := it.Element()
			scope := map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": v})}
			if each.Type().IsSetType() {
				key = v
			}
			if values[key.AsString()], err = one(fmt.Sprintf("[%q]", key.AsString()), scope); err != nil {
				return cty.NilVal, err
			}
		}
		return cty.ObjectVal(values), nil
	}
	return one("", nil)
}

var metaArguments = []string{"count", "depends_on", "for_each", "provider"}

// body evaluates the arguments in a body, with its dynamic blocks written out.
func (i *instance) body(body *hclsyntax.Body, scope map[string]cty.Value) (Body, error) {
	b := Body{Attributes: map[string]cty.Value{}, Blocks: map[string][]Body{}}
	for name, attribute := range body.Attributes {
		if slices.Contains(metaArguments, name) {
			continue
		}
		v, err := i.evaluate(attribute.Expr, scope)
		if err != nil {
			return b, err
		}
		if !v.IsNull() {
			b.Attributes[name] = v
		}
	}
	for _, block := range body.Blocks {
		switch block.Type {
		case "lifecycle":
		case "dynamic":
			if err := i.dynamic(block, scope, &b); err != nil {
				return b, err
			}
		default:
			inner, err := i.body(block.Body, scope)
			if err != nil {
				return b, err
			}
			b.Blocks[block.Type] = append(b.Blocks[block.Type], inner)
		}
	}
	return b, nil
}

func (i *instance) dynamic(block *hclsyntax.Block, scope map[string]cty.Value, b *Body) error {
	name := block.Labels[0]
	each, err := i.evaluate(block.Body.Attributes["for_each"].Expr, scope)
	if err != nil {
		return err
	}
	for it := each.ElementIterator(); it.Next(); {
		key, v := it.Element()
		inner := map[string]cty.Value{name: cty.ObjectVal(map[string]cty.Value{"key": key, "value": v})}
		maps.Copy(inner, scope)
		made, err := i.body(block.Body.Blocks[0].Body, inner) // the block "content"
		if err != nil {
			return err
		}
		b.Blocks[name] = append(b.Blocks[name], made)
	}
	return nil
}

// value has the attributes of a resource that an expression may refer to.
func (r *Resource) value() cty.Value {
	all := maps.Clone(r.Body.Attributes)
	kind := r.Type
	if r.data {
		kind = "data." + kind
	}
	for _, name := range identities[kind] {
		all[name] = cty.StringVal("«" + r.Address + "#" + name + "»")
	}
	return cty.ObjectVal(all)
}
