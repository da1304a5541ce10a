package dynamo

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// The limits of a statement. The first is DynamoDB's, for the text without its
// parameters.
const (
	maxStatementText = 8192
	maxStatementSize = 64 << 10
)

// A statement is a write in PartiQL, as a part of a shared request. It makes the
// same write as a request of its own, under the same condition, except for insert
// and delete. A read has an id alone.
type statement struct {
	id         string
	permission string // that DynamoDB asks for
	text       string
	parameters []types.AttributeValue
	size       int
	read       bool
	leaves     driver.Record // if it succeeds

	// An INSERT fails on any item. Create also writes over a record that expired
	// before cutoff.
	insert bool
	cutoff time.Time
	// A DELETE succeeds without an item. It returns the item that it deleted.
	delete bool
}

// Key, Size and Reads implement group.Work.
func (s *statement) Key() string { return s.id }
func (s *statement) Size() int   { return s.size }
func (s *statement) Reads() bool { return s.read }

func (s *statement) op() string {
	if s.read {
		return opRead
	}
	return opBatch
}

// insert returns the statement that creates a record, or nil.
func (s *Store) insert(r driver.Record, item map[string]types.AttributeValue, cutoff time.Time) *statement {
	if !s.group.speaks(r.Data) {
		return nil
	}
	a := &s.format.Attr
	p := phrase{parameters: make([]types.AttributeValue, 0, len(item))}
	p.write(`INSERT INTO `, s.group.table, ` VALUE {`)
	for _, name := range [...]string{a.ID, a.SortKey, a.Status, a.Owner, a.Attempt, a.Refunds, a.Validation, a.Lease, a.Expiration, a.Began, a.Steps, a.Request, a.Data, a.Ended} {
		v, ok := item[name]
		if !ok {
			continue // a NULL would not be absent
		}
		if len(p.parameters) > 0 {
			p.write(`,`)
		}
		p.write(`'`, name, `':?`)
		p.parameters = append(p.parameters, v)
	}
	p.write(`}`)
	return p.statement(statement{id: r.ID, permission: "PartiQLInsert", leaves: r, insert: true, cutoff: cutoff})
}

// statementOf returns the statement that makes an update, or nil for a change that
// PartiQL cannot express: it has neither if_not_exists nor ADD.
func (s *Store) statementOf(c driver.Change, u *update) *statement {
	switch {
	case c.Owner != "", c.Fingerprint != "", c.Release == driver.ReleaseRefund:
		return nil // a takeover, an adoption, a refund
	case !s.group.speaks(c.Data):
		return nil
	}
	for name := range c.Steps {
		if !isPlain(name) {
			return nil
		}
	}
	st := statement{id: u.id, permission: "PartiQLUpdate", leaves: u.leaves, delete: u.set == ""}
	p := phrase{format: s.format, update: u, parameters: make([]types.AttributeValue, 0, len(u.values)+2)} // and the key
	if st.delete {
		st.permission = "PartiQLDelete"
		p.write(`DELETE FROM `, s.group.table)
	} else {
		p.write(`UPDATE `, s.group.table, ` `)
		p.clauses(u.set, " SET ")
		p.clauses(u.tail, " REMOVE ")
	}
	p.write(` WHERE `)
	for name, v := range s.format.KeyAttributes(u.id) {
		p.write(`"`, name, `" = ? AND `)
		p.parameters = append(p.parameters, v)
	}
	p.clauses(strings.ReplaceAll(u.condition, "attribute_not_exists(#steps)", "#steps IS MISSING"), "")
	if st.delete {
		p.write(` RETURNING ALL OLD *`)
	}
	return p.statement(st)
}

// isPlain reports whether a name means itself between quotes in a statement.
// DynamoDB Local takes one that begins with # or : for a placeholder.
func isPlain(name string) bool {
	return name != "" && name[0] != '#' && name[0] != ':' &&
		!strings.ContainsAny(name, "\"'`\\") && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// A phrase is a statement that is being written.
type phrase struct {
	format     *recorditem.Format
	update     *update
	text       strings.Builder
	parameters []types.AttributeValue
}

// write is not inlined: that would make every function larger by 20 KB.
//
//go:noinline
func (p *phrase) write(parts ...string) {
	if p.text.Cap() == 0 {
		p.text.Grow(256)
	}
	for _, part := range parts {
		p.text.WriteString(part)
	}
}

// clauses translates an expression. PartiQL repeats the word of a clause where an
// expression has a comma.
func (p *phrase) clauses(rest, word string) {
	for {
		start := strings.IndexAny(rest, "#:,")
		if start < 0 {
			p.write(rest)
			return
		}
		end := start + 1
		for end < len(rest) && (rest[end] == '_' || 'a' <= rest[end] && rest[end] <= 'z' || '0' <= rest[end] && rest[end] <= '9') {
			end++
		}
		p.write(rest[:start])
		placeholder := rest[start:end]
		if v, ok := p.update.values[placeholder]; ok {
			p.write(`?`)
			p.parameters = append(p.parameters, v)
		} else if placeholder == "," {
			p.write(word)
			end++ // the space after it
		} else {
			p.write(`"`, cmp.Or(p.update.names[placeholder], p.format.Name(placeholder)), `"`)
		}
		rest = rest[end:]
	}
}

// statement completes a statement, or returns nil if it is too large for a shared
// request.
func (p *phrase) statement(st statement) *statement {
	st.text, st.parameters, st.size = p.text.String(), p.parameters, p.text.Len()
	for _, v := range p.parameters {
		st.size += attribute.Size(v)
	}
	if len(st.text) > maxStatementText || st.size > maxStatementSize {
		return nil
	}
	return &st
}
