package infra

import (
	"fmt"
	"strings"

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
