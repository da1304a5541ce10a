package powertools

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Dialect is a language of Powertools for AWS Lambda. Each computes another
// key for the same request.
type Dialect uint8

const (
	// TypeScript is Powertools for TypeScript, version 2. Tests run 2.35.
	TypeScript Dialect = iota + 1
	// Python is Powertools for Python, version 3.
	Python
	// Java is Powertools for Java, version 2. See the package's documentation
	// for what it supports.
	Java
	// DotNet is Powertools for .NET. See the package's documentation for what
	// it supports.
	DotNet
)

var dialectNames = []string{TypeScript: "typescript", Python: "python", Java: "java", DotNet: "dotnet"}

// ParseDialect returns the dialect with this name: typescript, python, java or
// dotnet.
func ParseDialect(name string) (Dialect, error) {
	for d := TypeScript; d <= DotNet; d++ {
		if dialectNames[d] == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("powertools: no dialect %q: use typescript, python, java or dotnet", name)
}

// String returns the name that [ParseDialect] takes.
func (d Dialect) String() string {
	if d.valid() {
		return dialectNames[d]
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

func (d Dialect) valid() bool { return TypeScript <= d && d <= DotNet }

// selectsText reports whether the dialect is well defined only for a selected
// scalar: what Java and .NET hash of a list or an object depends on the class
// that the event was decoded to.
func (d Dialect) selectsText() bool { return d == Java || d == DotNet }

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
