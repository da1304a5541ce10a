package infra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
)

// A PropsError is the value with which the constructors and methods of this
// package panic if they refuse their props.
type PropsError struct {
	Construct string   // path of the construct, e.g. "Shop/Orders"
	Problems  []string // each begins with the name of a field
}

func (e *PropsError) Error() string {
	return fmt.Sprintf("infra: %s: %s", e.Construct, strings.Join(e.Problems, "; "))
}

// problems collects texts, so that one run of synth reports all of them.
type problems []string

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// add adds the texts of several checks.
func (p *problems) add(all ...problems) { *p = append(*p, slices.Concat(all...)...) }

// refuseID reports a scope that is nil, and an id that is empty, a token, or taken.
// This package appends the suffix to the id.
func refuseID(scope constructs.IConstruct, id, suffix string) (found problems) {
	if scope == nil {
		return problems{"scope: it is nil"}
	}
	if unresolved(id) {
		return problems{"id: it is a token, whose value is known only during the deployment; use a text"}
	}
	found.when(id == "", "id: it is empty")
	id += suffix
	found.when(scope.Node().TryFindChild(&id) != nil, "id: %q is already in use in %s", id, *scope.Node().Path())
	return found
}

func unresolved(value any) bool { return *awscdk.Token_IsUnresolved(value) }

// build makes constructs of CDK from props that come from a field. If CDK refuses them, build
// panics with a *PropsError, which has the name of the field and CDK's words.
func build[C any](scope constructs.IConstruct, id, field string, construct func() C) (made C) {
	var found problems
	refused := attempt(func() { made = construct() })
	found.when(refused != "", "%s: %s", field, refused)
	found.panic(scope, id)
	return made
}

func (p problems) panic(scope constructs.IConstruct, id string) {
	if len(p) == 0 {
		return
	}
	path := id
	if scope != nil && *scope.Node().Path() != "" {
		path = strings.TrimSuffix(*scope.Node().Path()+"/"+id, "/")
	}
	panic(&PropsError{Construct: path, Problems: p})
}

// attempt returns the words with which CDK refuses a call, or "".
func attempt(call func()) (refused string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *PropsError:
			panic(r) // of this package, within the call
		default:
			refused = fmt.Sprint(r)
		}
	}()
	call()
	return ""
}
