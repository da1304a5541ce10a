package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Statement is an IAM statement of a function.
type Statement struct {
	Actions   []string // sorted
	Resources []any
	Condition any
	Effect    string
}

// A Function is a function of a template of CDK or SAM.
type Function struct {
	ID         string
	Properties map[string]any
	Statements []Statement
}

// Functions returns the functions of a template with their permissions.
func (t Template) Functions() []Function {
	var functions []Function
	for _, id := range t.IDs("AWS::Lambda::Function", "AWS::Serverless::Function") {
		p := maps.Clone(t.globals(id))
		maps.Copy(p, t.Resources()[id].Properties())
		f := Function{ID: id, Properties: p}
		for _, policy := range list(p["Policies"]) { // SAM
			f.add(policy)
		}
		role := target(p["Role"])
		for _, policy := range t.Resources("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy") {
			if slices.ContainsFunc(list(policy.Properties()["Roles"]), func(r any) bool { return target(r) == role && role != "" }) {
				f.add(policy.Properties()["PolicyDocument"])
			}
		}
		functions = append(functions, f)
	}
	return functions
}

// globals returns the properties that SAM applies to all functions.
func (t Template) globals(id string) map[string]any {
	g, _ := t["Globals"].(map[string]any)
	properties, _ := g["Function"].(map[string]any)
	if properties == nil || t.Resources()[id]["Type"] != "AWS::Serverless::Function" {
		return map[string]any{}
	}
	return properties
}

// Table returns the logical id of the table of a function's records, or "".
func (f Function) Table() string { return target(f.environment()["IDEMPOTENCY_TABLE"]) }

// Outbox returns the logical id of the outbox that a function writes to or relays,
// or "".
func (f Function) Outbox() string { return target(f.environment()["OUTBOX_TABLE"]) }

func (f Function) environment() map[string]any {
	e, _ := f.Properties["Environment"].(map[string]any)
	variables, _ := e["Variables"].(map[string]any)
	return variables
}

func (f *Function) add(document any) {
	d, _ := document.(map[string]any)
	for _, s := range list(d["Statement"]) {
		f.Statements = append(f.Statements, statement(s))
	}
}

func statement(v any) Statement {
	m, _ := v.(map[string]any)
	s := Statement{Condition: m["Condition"], Effect: fmt.Sprint(m["Effect"]), Resources: list(m["Resource"])}
	for _, a := range list(m["Action"]) {
		s.Actions = append(s.Actions, fmt.Sprint(a))
	}
	slices.Sort(s.Actions)
	return s
}

// On returns the sorted actions that a function is allowed on a resource.
func (f Function) On(id string) []string {
	var actions []string
	for _, s := range f.Statements {
		if s.Effect == "Allow" && slices.ContainsFunc(s.Resources, func(r any) bool { return target(r) == id }) {
			actions = append(actions, s.Actions...)
		}
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// Groups reports whether a function is allowed a call of group commit on the table
// of its records.
func (f Function) Groups() bool {
	return slices.ContainsFunc(f.On(f.Table()), func(action string) bool {
		return action == "dynamodb:BatchGetItem" || strings.HasPrefix(action, "dynamodb:PartiQL")
	})
}

func (t Template) everyStatement() []Statement {
	var all []Statement
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if key == "Statement" {
					for _, s := range list(value) {
						all = append(all, statement(s))
					}
				}
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	walk(t["Resources"])
	return all
}

// wildcard reports whether IAM would match a resource with several: any text with
// a "*", also within a join or a substitution.
func wildcard(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsAny(v, "*?")
	case map[string]any:
		for _, value := range v {
			if wildcard(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, wildcard)
	}
	return false
}
