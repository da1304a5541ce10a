package infra

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

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

// fact sets a declared time to that of a resource of this app, or to the default of AWS
// if it has none. A token is unknown. fact reports a declaration that differs.
func (p *problems) fact(name string, declared *time.Duration, value *float64, unit, byDefault time.Duration) {
	own := byDefault
	if value != nil {
		if unresolved(*value) {
			return
		}
		own = time.Duration(*value) * unit
	}
	p.when(*declared != 0 && *declared != own, "%s: %s is declared, and AWS will have %s", name, *declared, own)
	*declared = own
}

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

var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

// refuseTableName reports an invalid name. It accepts a name that is only known
// during the deployment.
func refuseTableName(name string) (found problems) {
	found.when(name != "" && !unresolved(name) && !tableName.MatchString(name),
		"TableName: %q is not 3 to 255 letters, digits, _, . and -", name)
	return found
}

// refuseSource reports a source that is nil, outside the Region of the function, or
// that already feeds the function. CDK accepts each construct once, and AWS each ARN,
// which imports under two ids may share.
func (f *IdempotentFunction) refuseSource(name string, source awscdk.IResource, arn func() *string) (found problems) {
	if source == nil {
		return problems{name + ": it is required"}
	}
	found = append(found, refuseRegion(name, source, f.scope)...)
	key := *arn()
	if unresolved(key) {
		key = fmt.Sprint(*source.Stack().Node().Path(), source.Stack().Resolve(&key))
	}
	found.when(f.sources[key], "%s: %s already feeds this function", name, *source.Node().Path())
	f.sources[key] = true
	return found
}

// refuseRegion reports a source outside the Region of the function that scope contains.
// Lambda reads queues and streams of its own Region, S3 and EventBridge invoke functions of
// theirs, and a subscription of SNS has its dead-letter queue beside its topic.
func refuseRegion(name string, source awscdk.IResource, scope constructs.Construct) (found problems) {
	if scope == nil {
		return nil // refuseID reports it
	}
	there, here := *source.Env().Region, *awscdk.Stack_Of(scope).Region()
	found.when(there != here && !unresolved(there) && !unresolved(here),
		"%s: it is in %s, and the function in %s; a function has its sources in its own Region", name, there, here)
	return found
}

func unresolved(value any) bool { return *awscdk.Token_IsUnresolved(value) }

// build makes a construct from props of CDK that a field lets the user change. If CDK refuses
// them, build panics with a *PropsError, which has the name of the field and CDK's words.
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
