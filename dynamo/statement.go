package dynamo

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

// The limits of a statement. The first is DynamoDB's, for the text without its
// parameters.
const (
	maxStatementText = 8192
	maxStatementSize = 64 << 10
)

// A statement is a write in PartiQL, as a part of a shared request. It makes the
// same write as the request of its own that package expressions states, under
// the same condition, except for insert and delete. A read has an id alone.
type statement struct {
	id         string
	permission string // that DynamoDB asks for
	text       string
	parameters []types.AttributeValue
	size       int
	read       bool
	leaves     driver.Record                   // where it succeeds
	known      map[string]types.AttributeValue // of the item of a record that it finishes

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
	p.text.Grow(256)
	p.write(`INSERT INTO `, s.group.table, ` VALUE {`)
	for _, name := range [...]string{a.ID, a.SortKey, a.Status, a.Owner, a.Attempt, a.Refunds, a.Validation, a.Lease, a.Expiration, a.Steps, a.Data} {
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
	st := p.statement(r.ID, "PartiQLInsert", r)
	if st != nil {
		st.insert, st.cutoff = true, cutoff
	}
	return st
}

// statementOf returns the statement that makes a change, or nil for a change that
// PartiQL cannot express: it has neither if_not_exists nor ADD.
func (s *Store) statementOf(f driver.Fence, c driver.Change) *statement {
	switch {
	case c.With != nil, c.Owner != "", c.Fingerprint != "", c.Release == driver.ReleaseRefund:
		return nil // a transaction, a takeover, an adoption, a refund
	case !s.group.speaks(c.Data):
		return nil
	}
	a := &s.format.Attr
	p := phrase{parameters: make([]types.AttributeValue, 0, 8)}
	p.text.Grow(256)
	switch {
	case c.Release == driver.ReleaseDelete:
		p.write(`DELETE FROM `, s.group.table)
		s.owned(&p, f)
		p.write(` AND (`).name(a.Steps).write(` IS MISSING OR size(`).name(a.Steps).write(`)`).is(`=`, attribute.Number(0)).write(`) RETURNING ALL OLD *`)
		st := p.statement(f.ID, "PartiQLDelete", driver.Record{})
		if st != nil {
			st.delete = true
		}
		return st
	case c.Release == driver.ReleaseKeep:
		p.update(s.group.table).set(a.Lease, attribute.Number(0)).remove(a.Owner)
		s.owned(&p, f)
		return p.statement(f.ID, "PartiQLUpdate", kept(f, c))
	case c.Status != driver.Absent:
		r, known := s.finished(f, c)
		p.update(s.group.table).set(a.Status, known[a.Status]).set(a.Data, known[a.Data]).set(a.Expiration, known[a.Expiration]).
			remove(a.Steps).remove(a.Lease)
		s.owned(&p, f)
		st := p.statement(f.ID, "PartiQLUpdate", r)
		if st != nil {
			st.known = known
		}
		return st
	case len(c.Steps) > 0:
		p.update(s.group.table)
		for _, name := range slices.Sorted(maps.Keys(c.Steps)) {
			if !isPlain(name) {
				return nil
			}
			p.write(` SET `).name(a.Steps).write(`.`).name(name).is(`=`, s.format.Step(c.Steps[name]))
		}
		p.expires(a.Expiration, c)
		s.owned(&p, f)
		return p.statement(f.ID, "PartiQLUpdate", stepped(f, c))
	default:
		lease := attribute.Millis(c.Lease)
		p.update(s.group.table).set(a.Lease, lease).expires(a.Expiration, c)
		s.owned(&p, f)
		// A delayed heartbeat never shortens a lease.
		p.write(` AND `).name(a.Lease).is(`<`, lease)
		return p.statement(f.ID, "PartiQLUpdate", extended(f, c))
	}
}

// owned writes the item and the fence of its owner: the status, too, because a
// delayed write must not change a record that is finished.
func (s *Store) owned(p *phrase, f driver.Fence) {
	a := &s.format.Attr
	key := s.format.Key(f.ID)
	p.write(` WHERE `).name(a.ID).is(`=`, key[a.ID])
	if s.format.Composite() {
		p.write(` AND `).name(a.SortKey).is(`=`, key[a.SortKey])
	}
	p.write(` AND `).name(a.Owner).is(`=`, attribute.Text(f.Owner))
	p.write(` AND `).name(a.Status).is(`=`, attribute.Text(string(driver.InProgress)))
}

// isPlain reports whether a name means itself between quotes in a statement.
// DynamoDB Local takes one that begins with # or : for a placeholder.
func isPlain(name string) bool {
	return name != "" && name[0] != '#' && name[0] != ':' &&
		!strings.ContainsAny(name, "\"'`\\") && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// A phrase is a statement that is being written.
type phrase struct {
	text       strings.Builder
	parameters []types.AttributeValue
}

// write is not inlined: that would make every function larger by 20 KB.
//
//go:noinline
func (p *phrase) write(parts ...string) *phrase {
	for _, part := range parts {
		p.text.WriteString(part)
	}
	return p
}

func (p *phrase) name(name string) *phrase { return p.write(`"`, name, `"`) }

func (p *phrase) update(table string) *phrase { return p.write(`UPDATE `, table) }

// is compares or sets the attribute named before it.
func (p *phrase) is(operator string, v types.AttributeValue) *phrase {
	p.parameters = append(p.parameters, v)
	return p.write(` `, operator, ` ?`)
}

// set sets an attribute, if there is a value.
func (p *phrase) set(name string, v types.AttributeValue) *phrase {
	if v == nil {
		return p
	}
	return p.write(` SET `).name(name).is(`=`, v)
}

func (p *phrase) remove(name string) *phrase { return p.write(` REMOVE `).name(name) }

func (p *phrase) expires(name string, c driver.Change) *phrase {
	if c.Expires.IsZero() {
		return p
	}
	return p.set(name, attribute.Seconds(c.Expires))
}

// statement returns the finished statement, or nil if it is too large for a
// shared request.
func (p *phrase) statement(id, permission string, leaves driver.Record) *statement {
	st := &statement{id: id, permission: permission, text: p.text.String(), parameters: p.parameters, leaves: leaves}
	st.size = len(st.text)
	for _, v := range st.parameters {
		st.size += attribute.Size(v)
	}
	if len(st.text) > maxStatementText || st.size > maxStatementSize {
		return nil
	}
	return st
}
