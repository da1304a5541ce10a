package postgres

import (
	"strconv"
	"strings"
)

// A phrase is a statement that is being written.
type phrase struct {
	text strings.Builder
	args []any
}

func (p *phrase) write(parts ...string) *phrase {
	for _, part := range parts {
		p.text.WriteString(part)
	}
	return p
}

// arg writes an argument, with its type: in some places PostgreSQL would take it
// for text.
func (p *phrase) arg(v any, typ string) *phrase {
	p.args = append(p.args, v)
	return p.write("$", strconv.Itoa(len(p.args)), "::", typ)
}

func (p *phrase) statement() statement { return statement{p.text.String(), p.args} }

// own begins a phrase whose first argument is the id.
func own(id string) *phrase { return &phrase{args: []any{encodeText(id)}} }
