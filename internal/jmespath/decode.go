package jmespath

import (
	"strings"

	"github.com/lambda-once/once/internal/canonical"
)

// maxNesting is the limit of encoding/json.
const maxNesting = 10000

// Decode returns the value of a JSON text in a dialect. Errors are of type
// [*canonical.Error].
func Decode(d Dialect, text string) (any, error) {
	p := decoder{dialect: d, text: text}
	v, err := p.value()
	if err == nil {
		if p.space(); p.pos < len(text) {
			err = p.fail("data after the end of the value")
		}
	}
	return v, err
}

type decoder struct {
	dialect    Dialect
	text       string
	pos, depth int
}

func (p *decoder) value() (any, error) {
	p.space()
	switch b := p.peek(); b {
	case '"':
		return p.string()
	case '{', '[':
		if p.depth++; p.depth > maxNesting {
			return nil, &canonical.Error{Offset: p.pos, Reason: errTooDeep.Error(), Err: errTooDeep}
		}
		defer func() { p.depth-- }()
		if b == '{' {
			return p.object()
		}
		return p.array()
	case 't':
		return true, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return nil, p.literal("null")
	case 'N', 'I':
		return p.notNumber()
	default:
		return p.number()
	}
}

func (p *decoder) array() (any, error) {
	list := []any{}
	err := p.elements(']', func() error {
		v, err := p.value()
		list = append(list, v)
		return err
	})
	return list, err
}

func (p *decoder) object() (any, error) {
	o := newObject(0)
	err := p.elements('}', func() error {
		if p.space(); p.peek() != '"' {
			return p.fail("expected a key")
		}
		key, err := p.string()
		if err != nil {
			return err
		}
		if p.space(); p.peek() != ':' {
			return p.fail("expected ':'")
		}
		p.pos++
		v, err := p.value()
		o.set(key, v)
		return err
	})
	return o, err
}

// elements reads the elements of an array or an object, up to its end.
func (p *decoder) elements(end byte, element func() error) error {
	p.pos++
	if p.space(); p.peek() == end {
		p.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch p.space(); p.peek() {
		case ',':
			p.pos++
		case end:
			p.pos++
			return nil
		default:
			return p.fail("expected ',' or '" + string(end) + "'")
		}
	}
}

func (p *decoder) literal(word string) error {
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return p.fail("expected a value")
	}
	p.pos += len(word)
	return nil
}

func (p *decoder) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// peek returns the next byte, and 0 at the end: no JSON text contains a 0.
func (p *decoder) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *decoder) fail(reason string) error {
	if p.pos >= len(p.text) {
		reason = "unexpected end"
	}
	return &canonical.Error{Offset: p.pos, Reason: reason}
}
