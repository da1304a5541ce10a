package terraform

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of Terraform that the modules call.
var functions = map[string]function.Function{
	"alltrue":          allTrue,
	"can":              tryfunc.CanFunc,
	"coalesce":         stdlib.CoalesceFunc,
	"compact":          stdlib.CompactFunc,
	"concat":           stdlib.ConcatFunc,
	"contains":         stdlib.ContainsFunc,
	"distinct":         stdlib.DistinctFunc,
	"filebase64sha256": digest,
	"flatten":          stdlib.FlattenFunc,
	"floor":            stdlib.FloorFunc,
	"jsonencode":       stdlib.JSONEncodeFunc,
	"keys":             stdlib.KeysFunc,
	"join":             stdlib.JoinFunc,
	"length":           stdlib.LengthFunc,
	"lookup":           stdlib.LookupFunc,
	"merge":            stdlib.MergeFunc,
	"min":              stdlib.MinFunc,
	"one":              one,
	"range":            stdlib.RangeFunc,
	"regex":            stdlib.RegexFunc,
	"split":            stdlib.SplitFunc,
	"toset":            stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"values":           stdlib.ValuesFunc,
}

var allTrue = unary(cty.List(cty.Bool), cty.Bool, func(list cty.Value) cty.Value {
	for _, v := range list.AsValueSlice() {
		if v.IsNull() || v.False() {
			return cty.False
		}
	}
	return cty.True
})

// digest reads no file: the zips of the functions are not built here.
var digest = unary(cty.String, cty.String, func(path cty.Value) cty.Value {
	return cty.StringVal("digest of " + path.AsString())
})

func unary(takes, returns cty.Type, f func(cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: takes}},
		Type:   function.StaticReturnType(returns),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f(args[0]), nil },
	})
}

var one = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		elements := args[0].AsValueSlice()
		switch len(elements) {
		case 0:
			return cty.DynamicPseudoType, nil
		case 1:
			return elements[0].Type(), nil
		}
		return cty.NilType, fmt.Errorf("%d elements, want at most one", len(elements))
	},
	Impl: func(args []cty.Value, result cty.Type) (cty.Value, error) {
		for _, v := range args[0].AsValueSlice() {
			return v, nil
		}
		return cty.NullVal(result), nil
	},
})
