package powertools

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/lambda-once/once/internal/jmespath"
)

// A Dialect is a language of Powertools for AWS Lambda. Each computes a key of its
// own for the same request.
type Dialect uint8

const (
	// TypeScript is Powertools for TypeScript, version 2. Tests run 2.35.
	TypeScript = Dialect(jmespath.TypeScript)
	// Python is Powertools for Python, version 3.
	Python = Dialect(jmespath.Python)
)

// ParseDialect returns the dialect with this name: typescript or python.
func ParseDialect(name string) (Dialect, error) {
	for d := TypeScript; d <= Python; d++ {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("powertools: no dialect %q: use typescript or python", name)
}

// String returns the name that [ParseDialect] takes.
func (d Dialect) String() string {
	if d.valid() {
		return d.engine().String()
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

func (d Dialect) valid() bool { return TypeScript <= d && d <= Python }

// engine returns the dialect's implementation of JMESPath.
func (d Dialect) engine() jmespath.Dialect { return jmespath.Dialect(d) }

// digest spells a hash.
func (d Dialect) digest(sum []byte) string {
	if d == TypeScript {
		return base64.StdEncoding.EncodeToString(sum)
	}
	return hex.EncodeToString(sum)
}
