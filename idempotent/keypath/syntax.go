package keypath

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jmespath-community/go-jmespath/pkg/parsing"
)

// syntaxError reports where an expression stops being JMESPath. The library
// knows the place but does not print it. What its parser says it expects is
// one of several possibilities, by the name of a Go constant: that is left out.
func syntaxError(expr string, err error) error {
	at := new(parsing.SyntaxError)
	if !errors.As(err, at) {
		return fmt.Errorf("syntax error: %w", err)
	}
	offset := min(max(at.Offset, 0), len(expr))
	for offset > 0 && offset < len(expr) && !utf8.RuneStart(expr[offset]) {
		offset--
	}
	what := ""
	if _, said, ok := strings.Cut(err.Error(), "Unclosed delimiter: "); ok {
		what = ": unclosed " + said
	}
	if offset == len(expr) {
		return fmt.Errorf("syntax error at byte %d, where the expression ends%s", offset, what)
	}
	return fmt.Errorf("syntax error at byte %d, at %q%s", offset, expr[offset:], what)
}
