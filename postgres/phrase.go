package postgres

import (
	"strconv"
	"strings"
	"sync"

	"github.com/lambda-once/once/idempotent/driver"
)

// A shape is what the text of a statement depends on: its kind, and the fields that it
// sets.
type shape struct {
	kind                                                            string
	owner, lease, expires, began, fingerprint, steps, request, ends bool
	release                                                         driver.Release
}

// texts are those of a layout that were built before.
type texts struct {
	mu  sync.RWMutex
	all map[shape]string
}

func (t *texts) of(s shape) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.all[s]
}

func (t *texts) add(s shape, sql string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = make(map[shape]string)
	}
	t.all[s] = sql
}

// A phrase is a statement that is being written. If its text is known, only the
// arguments are.
type phrase struct {
	text  strings.Builder
	known string
	args  []any
	built func(sql string) // keeps the text; may be nil
}

func (p *phrase) write(parts ...string) *phrase {
	if p.known == "" {
		for _, part := range parts {
			p.text.WriteString(part)
		}
	}
	return p
}

// arg writes an argument, with its type: in some places PostgreSQL would take it
// for text.
func (p *phrase) arg(v any, typ string) *phrase {
	p.args = append(p.args, v)
	if p.known == "" {
		p.write("$", strconv.Itoa(len(p.args)), "::", typ)
	}
	return p
}

func (p *phrase) statement() statement {
	if p.known != "" {
		return statement{p.known, p.args}
	}
	sql := p.text.String()
	if p.built != nil {
		p.built(sql)
	}
	return statement{sql, p.args}
}

// own begins a phrase whose first argument is the id.
func own(id string) *phrase { return &phrase{args: []any{encodeText(id)}} }

// shaped is own, for a text that is built once.
func (l *layout) shaped(s shape, id string) *phrase {
	const most = 17
	p := &phrase{known: l.texts.of(s), args: append(make([]any, 0, most), encodeText(id))}
	if p.known == "" {
		p.built = func(sql string) { l.texts.add(s, sql) }
	}
	return p
}
