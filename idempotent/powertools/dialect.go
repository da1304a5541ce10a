package powertools

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

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
	// Java is Powertools for Java, version 2. The package's documentation lists
	// its limits.
	Java = Dialect(jmespath.Java)
	// DotNet is Powertools for .NET. The package's documentation lists its
	// limits.
	DotNet = Dialect(jmespath.DotNet)
)

// ParseDialect returns the dialect with this name: typescript, python, java or
// dotnet.
func ParseDialect(name string) (Dialect, error) {
	for d := TypeScript; d <= DotNet; d++ {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("powertools: no dialect %q: use typescript, python, java or dotnet", name)
}

// String returns the name that [ParseDialect] takes.
func (d Dialect) String() string {
	if d.valid() {
		return d.engine().String()
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

func (d Dialect) valid() bool { return TypeScript <= d && d <= DotNet }

// engine returns the dialect's implementation of JMESPath.
func (d Dialect) engine() jmespath.Dialect { return jmespath.Dialect(d) }

// digest spells a hash.
func (d Dialect) digest(sum []byte) string {
	switch d {
	case TypeScript:
		return base64.StdEncoding.EncodeToString(sum)
	case Java:
		// Java prints a number of at least 32 digits: the leading zeros of a
		// longer hash are lost.
		digits := strings.TrimLeft(hex.EncodeToString(sum), "0")
		return strings.Repeat("0", max(0, 32-len(digits))) + digits
	default:
		return hex.EncodeToString(sum)
	}
}
