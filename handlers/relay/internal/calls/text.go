package calls

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/idempotent/outbound"
)

// Text is a message as SQS and SNS accept it.
type Text struct {
	Body       string
	Attributes map[string]string
	// Group and Deduplication are nil unless the destination is FIFO.
	Group, Deduplication *string
	Bytes                int
}

// NewText returns an error for a message that would fail its whole call. The name of a
// FIFO destination ends with ".fifo".
func NewText(m outbound.Message, destination string) (Text, error) {
	if len(m.Body) == 0 || !isText(string(m.Body)) {
		return Text{}, &relay.UnsendableError{Reason: "the body is empty, not UTF-8, or contains characters that SQS refuses or replaces"}
	}
	t := Text{Body: string(m.Body), Attributes: map[string]string{}, Bytes: len(m.Body)}
	if m.Type != "" {
		t.Attributes["type"] = m.Type
	}
	maps.Copy(t.Attributes, m.Attributes)
	t.Attributes[handlers.ChainAttribute] = ChainKey(m)
	wrong := len(t.Attributes) > 10
	for name, value := range t.Attributes {
		wrong = wrong || !isName(name) || value == "" || !isText(value)
		t.Bytes += len(name) + len(value) + len("String")
	}
	if wrong {
		return Text{}, &relay.UnsendableError{Reason: "it has more than 10 attributes with the type and the chain key, or one that is empty or that SQS refuses"}
	}
	if strings.HasSuffix(destination, ".fifo") {
		group := groupID(m.Aggregate)
		t.Group, t.Deduplication = &group, &m.ID
	}
	return t, nil
}

// ChainKey returns the chain key of a message, or its ID if it has none. A message that
// is read from the table, not by the relay, then has the same key.
func ChainKey(m outbound.Message) string {
	return cmp.Or(m.Attributes[handlers.ChainAttribute], m.ID)
}

var (
	name     = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	reserved = regexp.MustCompile(`(?i)^(aws|amazon)\.`)
	group    = regexp.MustCompile(`^[!-~]{1,128}$`)
)

func isName(text string) bool {
	return len(text) <= 256 && name.MatchString(text) && !reserved.MatchString(text)
}

// isText reports whether SQS accepts all characters. It may replace others by U+FFFD.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}

// groupID returns the aggregate, or its digest if a message group cannot contain its
// characters.
func groupID(aggregate string) string {
	if group.MatchString(aggregate) {
		return aggregate
	}
	sum := sha256.Sum256([]byte(aggregate))
	return hex.EncodeToString(sum[:])
}
