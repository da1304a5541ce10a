// Package canonical writes JSON in a canonical form: equal values have equal
// text. The form is that of RFC 8785, except that numbers are exact decimals.
package canonical

import (
	"bytes"
	"sync"
)

// An Error reports that a payload has no canonical JSON. Package idempotent
// converts it to the type that users know.
type Error struct {
	Offset int // in bytes from the start of the JSON text; -1 if there is none
	Reason string
	Err    error // the cause, or nil
}

func (e *Error) Error() string { return e.Reason }

// SafeText returns the whole text.
func (e *Error) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// maxNesting is the limit of encoding/json.
const maxNesting = 10000

// Append appends the canonical form of one JSON text to dst: RFC 8785, except
// that numbers are exact decimals. RFC 8785 converts them to float64, which
// makes 9007199254740993 equal to ...992.
//
// Append accepts what encoding/json accepts, except duplicate keys, invalid
// UTF-8, lone surrogates, and numbers that no bounded work could compare. Its
// errors are of type [*Error].
func Append(dst, raw []byte) ([]byte, error) {
	return canonicalize(dst, raw, false)
}

// canonicalizers are reused: their lists of members cannot live on the stack.
var canonicalizers = sync.Pool{New: func() any { return new(canonicalizer) }}

// canonicalize is Append for raw JSON, or for the output of json.Marshal, which
// writes \ufffd for bytes that were not UTF-8 (and a genuine U+FFFD unescaped):
// two different values would have one text.
func canonicalize(dst, raw []byte, marshalled bool) ([]byte, error) {
	c := canonicalizers.Get().(*canonicalizer)
	c.raw, c.dst, c.marshalled = raw, dst, marshalled
	err := c.document()
	text := c.dst
	// The pool must not retain the payload, nor the memory of a rare large one.
	*c = canonicalizer{members: c.members[:0], moved: c.moved[:0], unsorted: c.unsorted[:0]}
	if cap(c.members)+cap(c.moved) < 1<<10 {
		canonicalizers.Put(c)
	}
	if err != nil {
		return dst, err
	}
	return text, nil
}

// canonicalizer reads raw once and writes dst with keys in the order of raw.
// Objects whose keys are not in the canonical order are recorded, and reordered by
// one more pass over dst.
type canonicalizer struct {
	raw, dst   []byte
	pos, depth int
	marshalled bool
	members    []member // of the objects that are open, as a stack
	moved      []member // of the unsorted ones, in canonical order
	unsorted   []unsortedObject
}

// document returns the [*Error] with which any other method has panicked.
func (c *canonicalizer) document() (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Error:
			err = p
		default:
			panic(p)
		}
	}()
	base := len(c.dst)
	c.value()
	if c.space(); c.pos < len(c.raw) {
		panic(c.failure("data after the end of the value"))
	}
	if len(c.unsorted) > 0 {
		c.reorder(base)
	}
	return nil
}

func (c *canonicalizer) value() {
	c.space()
	switch b := c.peek(); {
	case b == '"':
		c.text()
	case b == '{':
		c.object()
	case b == '[':
		for more := c.open(']'); more; more = c.more(']') {
			c.value()
		}
	case b == 't':
		c.literal("true")
	case b == 'f':
		c.literal("false")
	case b == 'n':
		c.literal("null")
	case b == '-' || isDigit(b):
		c.number()
	default:
		panic(c.failure("expected a value"))
	}
}

// open copies the opening bracket of an object or array, and the closing one if there is
// nothing between them.
func (c *canonicalizer) open(end byte) (more bool) {
	if c.depth++; c.depth > maxNesting {
		panic(c.failure("nested too deeply"))
	}
	c.copyByte()
	c.space()
	return c.peek() != end || c.more(end)
}

// more copies the comma after an element, or the closing bracket.
func (c *canonicalizer) more(end byte) bool {
	c.space()
	b := c.peek()
	if b != ',' && b != end {
		panic(c.failure("expected ',' or '" + string(end) + "'"))
	}
	c.copyByte()
	if b == end {
		c.depth--
	}
	return b == ','
}

func (c *canonicalizer) literal(word string) {
	if !bytes.HasPrefix(c.raw[c.pos:], []byte(word)) {
		panic(c.failure("expected a value"))
	}
	c.dst = append(c.dst, word...)
	c.pos += len(word)
}

func (c *canonicalizer) space() {
	for c.pos < len(c.raw) {
		switch c.raw[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, and 0 at the end: no JSON text contains a 0.
func (c *canonicalizer) peek() byte {
	if c.pos < len(c.raw) {
		return c.raw[c.pos]
	}
	return 0
}

func (c *canonicalizer) copyByte() {
	c.dst = append(c.dst, c.raw[c.pos])
	c.pos++
}

// failure is of the place where c stands.
func (c *canonicalizer) failure(reason string) *Error {
	if c.pos >= len(c.raw) {
		reason = "unexpected end"
	}
	return &Error{Offset: c.pos, Reason: reason}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
