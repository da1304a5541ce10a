package calls

import (
	"cmp"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
)

// Text has the fields that SQS and SNS need beside the body and the attributes of a message.
type Text struct {
	Group, Deduplication *string // nil unless the destination is FIFO
	Bytes                int
}

// NewText calls set for each attribute. It returns an error for a message that would
// fail its whole call. The name of a FIFO destination ends with ".fifo".
func NewText(m driver.OutboxMessage, destination string, set func(name, value string)) (Text, error) {
	t := Text{Bytes: len(m.Body)}
	attributes := map[string]string{}
	if m.Type != "" {
		attributes["type"] = m.Type
	}
	maps.Copy(attributes, m.Attributes)
	attributes[handlers.ChainAttribute] = ChainKey(m)
	fits := len(attributes) <= 10
	for name, value := range attributes {
		set(name, value)
		fits = fits && len(name) <= 256 && names.MatchString(name) && !reserved.MatchString(name) && isText(value)
		t.Bytes += len(name) + len(value) + len("String")
	}
	switch {
	case !isText(string(m.Body)):
		return t, &relay.MessageError{Reason: "the body is empty, not UTF-8, or contains characters that SQS refuses or replaces", Permanent: true}
	case !fits:
		return t, &relay.MessageError{Reason: "it has more than 10 attributes with the type and the chain key, or one that is empty or that SQS refuses", Permanent: true}
	case strings.HasSuffix(destination, ".fifo"):
		if !groups.MatchString(m.Aggregate) {
			m.Aggregate = canonical.SHA256([]byte(m.Aggregate))
		}
		t.Group, t.Deduplication = &m.Aggregate, &m.ID
	}
	return t, nil
}

// ChainKey returns the chain key of a message, which may have none outside the relay.
func ChainKey(m driver.OutboxMessage) string {
	return cmp.Or(m.Attributes[handlers.ChainAttribute], m.ID)
}

var (
	names    = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	reserved = regexp.MustCompile(`(?i)^(aws|amazon)\.`)
	groups   = regexp.MustCompile(`^[!-~]{1,128}$`)
)

// isText is no regular expression: one would take twenty times as long.
func isText(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}
