package terraform

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// A Configuration is an evaluated configuration.
type Configuration struct {
	Resources []*Resource // sorted by their addresses
	Outputs   map[string]cty.Value
	// Refusals are the messages of validations and preconditions that do not hold. Each
	// begins with the address of the module, or with nothing in the root.
	Refusals []string

	refused []hcl.Range // the conditions of Refusals
}

// Evaluate evaluates the configuration in a folder with all modules that it calls. The
// variables of the root have their defaults.
func Evaluate(dir string) (*Configuration, error) {
	read, err := readModule(dir)
	if err != nil {
		return nil, err
	}
	c := &Configuration{}
	root := &instance{module: read, to: c, values: map[string]cty.Value{}}
	root.argument = func(string) (cty.Value, bool, error) { return cty.NilVal, false, nil }
	if c.Outputs, err = root.all(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.Resources, func(a, b *Resource) int { return strings.Compare(a.Address, b.Address) })
	slices.Sort(c.Refusals)
	return c, nil
}

// An instance is a module with its arguments.
type instance struct {
	*module
	address  string // "module.orders.", and "" of the root
	argument func(name string) (value cty.Value, given bool, err error)
	to       *Configuration
	values   map[string]cty.Value // what is evaluated, by "var.name", "local.name", "module.name" and so on
}

// all evaluates everything in a module, and returns the outputs.
func (i *instance) all() (map[string]cty.Value, error) {
	outputs := map[string]cty.Value{}
	for _, names := range []struct {
		prefix string
		names  []string
	}{
		{"var.", slices.Sorted(maps.Keys(i.variables))},
		{"local.", slices.Sorted(maps.Keys(i.locals))},
		{"", slices.Sorted(maps.Keys(i.resources))},
		{"module.", slices.Sorted(maps.Keys(i.calls))},
	} {
		for _, name := range names.names {
			if _, err := i.value(names.prefix + name); err != nil {
				return nil, err
			}
		}
	}
	for name, block := range i.outputs {
		v, err := i.evaluate(block.Body.Attributes["value"].Expr, nil)
		if err != nil {
			return nil, err
		}
		if err := i.check(block.Body, "precondition", nil); err != nil {
			return nil, err
		}
		outputs[name] = v
	}
	return outputs, nil
}

// value returns the value of a name, such as "var.name". It evaluates it once.
func (i *instance) value(name string) (cty.Value, error) {
	if v, ok := i.values[name]; ok {
		if v == cty.NilVal {
			return v, fmt.Errorf("%s%s refers to itself", i.address, name)
		}
		return v, nil
	}
	i.values[name] = cty.NilVal
	v, err := i.first(name)
	if err != nil {
		return v, fmt.Errorf("%s%s: %w", i.address, name, err)
	}
	i.values[name] = v
	return v, nil
}

func (i *instance) first(name string) (cty.Value, error) {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case kind == "var" && i.variables[rest] != nil:
		return i.variable(rest)
	case kind == "local" && i.locals[rest] != nil:
		return i.evaluate(i.locals[rest], nil)
	case kind == "module" && i.calls[rest] != nil:
		outputs, err := i.call(rest)
		return cty.ObjectVal(outputs), err
	case i.resources[name] != nil:
		return i.resource(name)
	}
	return cty.NilVal, fmt.Errorf("it is not defined")
}

// call evaluates a module that is called from this one.
func (i *instance) call(name string) (map[string]cty.Value, error) {
	body := i.calls[name].Body
	source, err := i.evaluate(body.Attributes["source"].Expr, nil)
	if err != nil {
		return nil, err
	}
	read, err := readModule(filepath.Join(i.dir, source.AsString()))
	if err != nil {
		return nil, err
	}
	for argument, a := range body.Attributes {
		if !slices.Contains([]string{"source", "depends_on"}, argument) && read.variables[argument] == nil {
			return nil, fmt.Errorf("%s: the module has no variable %q", a.SrcRange, argument)
		}
	}
	child := &instance{module: read, address: i.address + "module." + name + ".", to: i.to, values: map[string]cty.Value{}}
	child.argument = func(name string) (cty.Value, bool, error) {
		a, given := body.Attributes[name]
		if !given {
			return cty.NilVal, false, nil
		}
		v, err := i.evaluate(a.Expr, nil)
		return v, true, err
	}
	return child.all()
}

// evaluate evaluates an expression, in which scope has further names, such as each.
func (i *instance) evaluate(expression hclsyntax.Expression, scope map[string]cty.Value) (cty.Value, error) {
	names := map[string]cty.Value{}
	maps.Copy(names, scope)
	for _, traversal := range expression.Variables() {
		path := []string{traversal.RootName()}
		if _, ok := scope[path[0]]; ok {
			continue
		}
		length := 2
		if path[0] == "data" {
			length = 3
		}
		for _, step := range traversal[1:min(length, len(traversal))] {
			if attribute, ok := step.(hcl.TraverseAttr); ok {
				path = append(path, attribute.Name)
			}
		}
		if len(path) < length {
			return cty.NilVal, fmt.Errorf("%s: a reference to all of %s", traversal.SourceRange(), path[0])
		}
		v, err := i.value(strings.Join(path, "."))
		if err != nil {
			return cty.NilVal, err
		}
		put(names, path, v)
	}
	v, wrong := expression.Value(&hcl.EvalContext{Functions: functions, Variables: names})
	if wrong.HasErrors() {
		return v, wrong
	}
	return v, nil
}

// put stores a value at a path of names.
func put(in map[string]cty.Value, path []string, v cty.Value) {
	if len(path) > 1 {
		of := map[string]cty.Value{}
		if known, ok := in[path[0]]; ok {
			of = known.AsValueMap()
		}
		put(of, path[1:], v)
		v = cty.ObjectVal(of)
	}
	in[path[0]] = v
}

// check evaluates conditions, and notes the messages of those that do not hold.
func (i *instance) check(body *hclsyntax.Body, kind string, scope map[string]cty.Value) error {
	for _, block := range body.Blocks {
		if block.Type != kind {
			continue
		}
		holds, err := i.evaluate(block.Body.Attributes["condition"].Expr, scope)
		if err != nil {
			return err
		}
		var ok bool
		if err := gocty.FromCtyValue(holds, &ok); err != nil {
			return fmt.Errorf("%s: %w", block.TypeRange, err)
		}
		if ok {
			continue
		}
		message, err := i.evaluate(block.Body.Attributes["error_message"].Expr, scope)
		if err != nil {
			return err
		}
		i.to.Refusals = append(i.to.Refusals, i.address+" "+message.AsString())
		i.to.refused = append(i.to.refused, block.TypeRange)
	}
	return nil
}
