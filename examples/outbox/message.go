package outbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/outbound"
)

var (
	errNotText    = errors.New("outbox: the body is empty, not UTF-8, or contains characters that SQS refuses or replaces")
	errAttributes = errors.New("outbox: more than 10 attributes with the type, or an empty one, or one that SQS refuses")
)

// TypeAttribute is the attribute with a message's type in SQS and SNS, unless its
// producer has set one.
const TypeAttribute = "type"

// textMessage is a message as SQS and SNS accept it.
type textMessage struct {
	body       string
	attributes map[string]string
	// group and deduplication are for FIFO destinations.
	group, deduplication *string
	bytes                int
}

// newTextMessage refuses a message that would fail its whole call.
func newTextMessage(m outbound.Message, fifo bool) (textMessage, error) {
	if len(m.Body) == 0 || !utf8.Valid(m.Body) || strings.ContainsFunc(string(m.Body), noText) {
		return textMessage{}, errNotText
	}
	t := textMessage{body: string(m.Body), attributes: map[string]string{}, bytes: len(m.Body)}
	maps.Copy(t.attributes, m.Attributes)
	t.attributes[handlers.ChainAttribute] = chainKey(m)
	if _, set := t.attributes[TypeAttribute]; !set && m.Type != "" {
		t.attributes[TypeAttribute] = m.Type
	}
	if len(t.attributes) > 10 {
		return textMessage{}, errAttributes
	}
	for name, value := range t.attributes {
		if !isAttribute(name) || value == "" || strings.ContainsFunc(value, noText) {
			return textMessage{}, errAttributes
		}
		t.bytes += len(name) + len(value) + len("String")
	}
	if fifo {
		group := groupID(m.Aggregate)
		t.group, t.deduplication = &group, &m.ID
	}
	return t, nil
}

// chainKey returns the chain key of a message, or its ID if it has none. A message
// that is read from the table, not by the relay, then has the same key.
func chainKey(m outbound.Message) string {
	return cmp.Or(m.Attributes[handlers.ChainAttribute], m.ID)
}

// isAttribute reports whether SQS accepts the name of an attribute.
func isAttribute(name string) bool {
	lower := strings.ToLower(name)
	return len(name) > 0 && len(name) <= 256 && !strings.ContainsFunc(name, notInName) &&
		!strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..") &&
		!strings.HasPrefix(lower, "aws.") && !strings.HasPrefix(lower, "amazon.")
}

func notInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r))
}

// noText reports whether SQS refuses a character, or may replace it with U+FFFD.
func noText(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

func isFIFO(destination string) bool { return strings.HasSuffix(destination, ".fifo") }

// groupID returns the aggregate, or its digest if a message group cannot contain its
// characters.
func groupID(aggregate string) string {
	if len(aggregate) <= 128 && !strings.ContainsFunc(aggregate, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return aggregate
	}
	sum := sha256.Sum256([]byte(aggregate))
	return hex.EncodeToString(sum[:])
}
