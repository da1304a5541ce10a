package infra

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
)

// PropsError is the value with which the constructors and methods of this
// package panic when they refuse their props.
type PropsError struct {
	Construct string   // path of the construct, e.g. "Shop/Orders"
	Problems  []string // each begins with the name of a field
}

func (e *PropsError) Error() string {
	return fmt.Sprintf("infra: %s: %s", e.Construct, strings.Join(e.Problems, "; "))
}

// problems collects what is wrong, so that one run of synth shows all of it.
type problems []string

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// refuseID finds an id that no construct can have, or that another one has. The
// suffix is what this package adds to it.
func refuseID(scope constructs.IConstruct, id, suffix string) problems {
	var found problems
	found.when(id == "", "id: it is empty")
	id += suffix
	found.when(scope.Node().TryFindChild(&id) != nil, "id: another construct in %s has %q", *scope.Node().Path(), id)
	return found
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)

// refuseTableName leaves alone what is not known before the deployment.
func refuseTableName(name string) problems {
	var found problems
	found.when(name != "" && !*awscdk.Token_IsUnresolved(name) && !tableName.MatchString(name),
		"TableName: %q is not 3 to 255 letters, digits, _, . and -", name)
	return found
}

// refuseSource finds a source that is missing, or that feeds the function
// already: CDK takes each once.
func (f *IdempotentFunction) refuseSource(name string, source constructs.IConstruct) problems {
	var found problems
	if source == nil {
		found.when(true, "%s: it is required", name)
		return found
	}
	path := *source.Node().Path()
	found.when(f.sources[path], "%s: %s feeds this function already", name, path)
	f.sources[path] = true
	return found
}

func (p problems) panic(scope constructs.IConstruct, id string) {
	if len(p) == 0 {
		return
	}
	path := *scope.Node().Path()
	if path != "" && id != "" {
		path += "/"
	}
	panic(&PropsError{Construct: path + id, Problems: p})
}
