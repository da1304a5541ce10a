package jmespath

import (
	"strings"

	"github.com/lambda-once/once/internal/canonical"
)

// maxNesting is the limit of encoding/json.
const maxNesting = 10000

// Decode returns the value of a JSON text in a dialect. Exact refuses texts without
// canonical JSON. Errors are of type [*canonical.Error].
func Decode(d Dialect, text string) (any, error) {
	if d == Exact {
		b, err := canonical.Append(nil, []byte(text))
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	return (*Selection)(nil).Decode(d, text)
}

// Decode returns the value of a JSON text with the selected members alone. Its errors are
// those of the whole text. In Exact, the text is canonical.
func (s *Selection) Decode(d Dialect, text string) (v any, err error) {
	defer catch(&err)
	p := decoder{dialect: d, text: text}
	v = p.value(s)
	if p.space(); p.pos < len(text) {
		panic(p.failure("data after the end of the value"))
	}
	return v, nil
}

type decoder struct {
	dialect    Dialect
	text       string
	pos, depth int
}

func (p *decoder) value(selected *Selection) any {
	p.space()
	switch b := p.peek(); {
	case b == '"':
		return p.string()
	case b == '{':
		return p.object(selected)
	case b == '[':
		list := []any{}
		for more := p.open(']'); more; more = p.more(']') {
			list = append(list, p.value(nil))
		}
		return list
	case p.atNumber():
		return p.number()
	default:
		return p.word()
	}
}

func (p *decoder) object(selected *Selection) any {
	o := newObject(0)
	for more := p.open('}'); more; more = p.more('}') {
		key := p.key()
		if part, reads := selected.part(key); reads {
			o.set(key, p.value(part))
		} else {
			p.skip()
		}
	}
	return o
}

func (p *decoder) key() string {
	if p.space(); p.peek() != '"' {
		panic(p.failure("expected a key"))
	}
	key := p.string()
	if p.space(); p.peek() != ':' {
		panic(p.failure("expected ':'"))
	}
	p.pos++
	return key
}

// skip reads a value, and builds nothing of it.
func (p *decoder) skip() {
	p.space()
	switch b := p.peek(); {
	case b == '"':
		p.string()
	case b == '{':
		for more := p.open('}'); more; more = p.more('}') {
			p.key()
			p.skip()
		}
	case b == '[':
		for more := p.open(']'); more; more = p.more(']') {
			p.skip()
		}
	case p.atNumber():
		p.token()
	default:
		p.word()
	}
}

// open reads the opening bracket of an array or an object, and the closing one if there
// is nothing between them.
func (p *decoder) open(end byte) (more bool) {
	if p.depth++; p.depth > maxNesting {
		panic(failure{&canonical.Error{Offset: p.pos, Reason: errTooDeep.Error(), Err: errTooDeep}})
	}
	p.pos++
	p.space()
	return p.peek() != end || p.more(end)
}

// more reads the comma after an element, or the closing bracket.
func (p *decoder) more(end byte) bool {
	p.space()
	b := p.peek()
	if b != ',' && b != end {
		panic(p.failure("expected ',' or '" + string(end) + "'"))
	}
	if p.pos++; b == end {
		p.depth--
	}
	return b == ','
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

// failure is of the place where the decoder stands.
func (p *decoder) failure(reason string) failure {
	if p.pos >= len(p.text) {
		reason = "unexpected end"
	}
	return failure{&canonical.Error{Offset: p.pos, Reason: reason}}
}
