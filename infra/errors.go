package infra

import (
	"fmt"
	"regexp"
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

// refuseID reports an id that is empty, taken, or known only during the deployment.
// This package appends the suffix to the id.
func refuseID(scope constructs.IConstruct, id, suffix string) (found problems) {
	if scope == nil {
		found.when(true, "scope: it is nil")
		return found
	}
	found.when(id == "", "id: it is empty")
	found.when(*awscdk.Token_IsUnresolved(id), "id: it is a token, whose value is known only during the deployment; use a text")
	id += suffix
	found.when(scope.Node().TryFindChild(&id) != nil, "id: %q is already in use in %s", id, *scope.Node().Path())
	return found
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

// refuseTableName reports an invalid name. It accepts a name that is only known
// during the deployment.
func refuseTableName(name string) (found problems) {
	found.when(name != "" && !*awscdk.Token_IsUnresolved(name) && !tableName.MatchString(name),
		"TableName: %q is not 3 to 255 letters, digits, _, . and -", name)
	return found
}

// refuseSource reports a source that is nil, or that already feeds the function.
// CDK accepts each source once.
func (f *IdempotentFunction) refuseSource(name string, source constructs.IConstruct) (found problems) {
	if source == nil {
		found.when(true, "%s: it is required", name)
		return found
	}
	path := *source.Node().Path()
	found.when(f.sources[path], "%s: %s already feeds this function", name, path)
	f.sources[path] = true
	return found
}

func (p problems) panic(scope constructs.IConstruct, id string) {
	if len(p) == 0 {
		return
	}
	path := ""
	if scope != nil {
		path = *scope.Node().Path()
	}
	if path != "" && id != "" {
		path += "/"
	}
	panic(&PropsError{Construct: path + id, Problems: p})
}
