package terraform

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// variable returns the argument of a variable, or its default, and checks it.
func (i *instance) variable(name string) (cty.Value, error) {
	body := i.variables[name].Body
	value, given, err := i.argument(name)
	if err != nil {
		return value, err
	}
	given = given && (!value.IsNull() || i.isTrue(body, "nullable", true))
	if byDefault := body.Attributes["default"]; !given {
		if byDefault == nil {
			return value, fmt.Errorf("it is required")
		}
		if value, err = i.evaluate(byDefault.Expr, nil); err != nil {
			return value, err
		}
	}
	typed := body.Attributes["type"]
	if typed == nil || body.Attributes["description"] == nil {
		return value, fmt.Errorf("it has no type, or no description")
	}
	kind, defaults, wrong := typeexpr.TypeConstraintWithDefaults(typed.Expr)
	if wrong.HasErrors() {
		return value, wrong
	}
	if defaults != nil && !value.IsNull() {
		value = defaults.Apply(value)
	}
	if value, err = convert.Convert(value, kind); err != nil {
		return value, err
	}
	i.values["var."+name] = value // its validations refer to it
	return value, i.check(body, "validation", nil)
}

// isTrue returns the value of a literal attribute.
func (i *instance) isTrue(body *hclsyntax.Body, name string, byDefault bool) bool {
	attribute := body.Attributes[name]
	if attribute == nil {
		return byDefault
	}
	v, wrong := attribute.Expr.Value(nil)
	return !wrong.HasErrors() && v.Type() == cty.Bool && v.True()
}
