package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers"
)

var (
	errNotText    = errors.New("outbox: the body is empty or not UTF-8: SQS and SNS take text alone")
	errAttributes = errors.New("outbox: there are more than 10 attributes with the type, or an empty one")
)

// TypeAttribute is the attribute that has a message's type, in SQS and SNS,
// unless its producer has set one.
const TypeAttribute = "type"

// textMessage is what SQS and SNS take.
type textMessage struct {
	body       string
	attributes map[string]string
	// group and deduplication are for FIFO destinations.
	group, deduplication *string
	bytes                int
}

// newTextMessage checks what would fail a whole call.
func newTextMessage(m handlers.OutboxMessage, fifo bool) (textMessage, error) {
	if len(m.Body) == 0 || !utf8.Valid(m.Body) {
		return textMessage{}, errNotText
	}
	t := textMessage{body: string(m.Body), attributes: maps.Clone(m.Attributes), bytes: len(m.Body)}
	if _, set := t.attributes[TypeAttribute]; !set && m.Type != "" {
		t.attributes[TypeAttribute] = m.Type
	}
	if len(t.attributes) > 10 {
		return textMessage{}, errAttributes
	}
	for name, value := range t.attributes {
		if name == "" || value == "" {
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

func isFIFO(destination string) bool { return strings.HasSuffix(destination, ".fifo") }

// groupID is the aggregate, or its digest where it has characters that a
// message group cannot have.
func groupID(aggregate string) string {
	if len(aggregate) <= 128 && !strings.ContainsFunc(aggregate, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return aggregate
	}
	sum := sha256.Sum256([]byte(aggregate))
	return hex.EncodeToString(sum[:])
}
