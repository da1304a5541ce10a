package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Statement is a statement of a policy.
type Statement struct {
	Actions   []string // sorted
	Resources []any
	Condition any
	Effect    string
}

// statements returns the statements of a policy document.
func statements(document any) []Statement {
	var all []Statement
	for _, v := range list(at(document, "Statement")) {
		s := Statement{
			Condition: at(v, "Condition"), Effect: fmt.Sprint(at(v, "Effect")), Resources: list(at(v, "Resource")),
		}
		for _, action := range list(at(v, "Action")) {
			s.Actions = append(s.Actions, fmt.Sprint(action))
		}
		slices.Sort(s.Actions)
		all = append(all, s)
	}
	return all
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
		r := t.Resources()[id]
		f := Function{ID: id, Properties: map[string]any{}}
		if common, ok := at(t["Globals"], "Function").(map[string]any); ok && r["Type"] == "AWS::Serverless::Function" {
			maps.Copy(f.Properties, common)
		}
		maps.Copy(f.Properties, r.Properties())
		for _, policy := range list(r.at("Policies")) { // SAM
			f.Statements = append(f.Statements, statements(policy)...)
		}
		for _, policy := range t.Resources("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy") {
			if refers(policy.at("Roles"), target(r.at("Role"))) {
				f.Statements = append(f.Statements, statements(policy.at("PolicyDocument"))...)
			}
		}
		functions = append(functions, f)
	}
	return functions
}

// Table returns the logical id of the table of a function's records, or "".
func (f Function) Table() string {
	return target(at(f.Properties, "Environment", "Variables", "IDEMPOTENCY_TABLE"))
}

// On returns the sorted actions that a function is allowed on a resource.
func (f Function) On(id string) []string {
	var actions []string
	for _, s := range f.Statements {
		if s.Effect == "Allow" && refers(s.Resources, id) {
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
