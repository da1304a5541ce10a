package postgres

import (
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
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

// A statement is one read or conditional write of a record. A write returns no row,
// but for those whose comment says otherwise: whether its condition holds is how many
// rows it affects. It can be a part of a larger statement or transaction.
//
// The text depends on which fields the write sets, and not on their values, so that a
// connection prepares only a few. The first argument is the id of the record.
type statement struct {
	sql  string
	args []any
}

// read returns the statement that reads a record.
func (l *layout) read(id string) statement {
	return own(id).write("SELECT ", columnList, " FROM ", l.table, ` WHERE "id" = $1::text`).statement()
}

// insert returns the statement that writes r if there is no record with its id. It
// returns a row that begins with true, and is otherwise empty, or one of false and the
// record that it has met. It returns none if it has waited for that record.
//
// The condition keeps a duplicate from becoming a write: ON CONFLICT waits for a
// transaction that changes the row.
//
// A plain INSERT takes less time. But on a table without a unique index on the id it
// grants a key twice, where ON CONFLICT fails with 42P10. The row that begins with true is
// there because a trigger can suppress a write.
func (l *layout) insert(r driver.Record) statement {
	claims := r.Status == driver.InProgress && r.Refunds == 0 && r.Data == nil && r.Payload == "" && r.Unavailable == ""
	p := own(r.ID).write("WITH ", l.met, " AS (SELECT ", columnList, " FROM ", l.table, ` WHERE "id" = $1::text), `)
	p.write(l.written, " AS (INSERT INTO ", l.table, " (", columnList, ") SELECT $1::text")
	for n, v := range l.values(r) {
		switch c := columns[n+1]; {
		case !claims, c.name == `"owner"`, c.name == `"attempt"`, c.name == `"lease"`, c.name == `"expires"`, c.name == `"fingerprint"`,
			c.name == `"began"`, c.name == `"request"` && r.Request != nil:
			p.write(", ").arg(v, c.kind.name)
		case c.name == `"status"`:
			p.write(", '", string(driver.InProgress), "'")
		case c.name == `"steps"`:
			p.write(", ''::bytea")
		default:
			p.write(", ", c.kind.empty, "::", c.kind.name)
		}
	}
	p.write(" WHERE NOT EXISTS (SELECT FROM ", l.met, `) ON CONFLICT ("id") DO NOTHING RETURNING 1) SELECT true`)
	for _, c := range columns {
		p.write(", ", c.kind.empty, "::", c.kind.name)
	}
	return p.write(" FROM ", l.written, " UNION ALL SELECT false, ", columnList, " FROM ", l.met).statement()
}

// values returns the arguments of r for all columns but the id.
func (l *layout) values(r driver.Record) []any {
	var steps any
	if r.Status == driver.InProgress {
		steps = []byte{}
	}
	return []any{
		string(r.Status), encodeText(r.Owner), r.Attempt, r.Refunds, whenMillis(r.Lease), whenSeconds(r.Expires),
		encodeText(r.Fingerprint), encodeText(r.Payload), encodeText(r.Unavailable), bytesOf(r.Data), steps,
		whenMillis(r.Began), bytesOf(r.Request), endingOf(r.Ended),
	}
}

// create returns the statement that writes r if there is no record with its id, or
// one that expired before cutoff.
//
// The subquery keeps a duplicate from becoming a write: ON CONFLICT locks the row
// that it meets even if it does not update it, and a lock is written to disk.
func (l *layout) create(r driver.Record, cutoff time.Time) statement {
	p := own(r.ID).write("INSERT INTO ", l.table, " AS stored (", columnList, ") SELECT $1::text")
	for n, v := range l.values(r) {
		p.write(", ").arg(v, columns[n+1].kind.name)
	}
	p.args = append(p.args, whenSeconds(cutoff), whenMillis(cutoff))
	over := l.expired("stored", len(p.args)-1)
	p.write(" WHERE NOT EXISTS (SELECT FROM ", l.table, ` AS stored WHERE "id" = $1::text AND (`, over, ") IS NOT TRUE)")
	p.write(` ON CONFLICT ("id") DO UPDATE SET `)
	for n, c := range columns[1:] {
		if n > 0 {
			p.write(", ")
		}
		p.write(c.name, " = EXCLUDED.", c.name)
	}
	return p.write(" WHERE ", over).statement()
}

// expired returns the condition that a row is expired: driver.Record.Expired. The
// cutoff is the argument n in seconds, and the next one in milliseconds. It is
// NULL for a row that never expires, and for a cutoff that is NULL.
func (l *layout) expired(row string, n int) string {
	seconds, millis := "$"+strconv.Itoa(n)+"::timestamptz", "$"+strconv.Itoa(n+1)+"::timestamptz"
	return row + `."expires" < ` + seconds + " AND (" + row + `."status" <> '` + string(driver.InProgress) + "' OR " +
		row + `."lease" IS NULL OR ` + row + `."lease" < ` + millis + ")"
}

// isInProgress returns the condition that a row is in progress, for a row with a dot.
func (l *layout) isInProgress(row string) string {
	return row + `"status" = '` + string(driver.InProgress) + "'"
}

// change returns the statement that applies c if the fence holds. Its condition is
// driver.Fence.Holds, and that new steps fit. A takeover returns the record: any
// other write would get back its own values.
func (l *layout) change(f driver.Fence, c driver.Change) statement {
	p := own(f.ID)
	if c.Release == driver.ReleaseDelete {
		p.write("DELETE FROM ", l.table, " AS stored")
	} else {
		p.write("UPDATE ", l.table, " AS stored SET ")
		l.set(p, c)
	}
	// The status, too, because a delayed write must not change a finished record.
	p.write(` WHERE stored."id" = $1::text AND `, l.isInProgress("stored."), ` AND stored."owner" = `).
		arg(encodeText(f.Owner), "text")
	switch {
	case c.Owner != "":
		p.write(` AND stored."attempt" = `).arg(f.Attempt, "bigint")
		// In milliseconds, as leases are read: a person who ends a lease by hand
		// may write now().
		p.write(` AND date_trunc('milliseconds', stored."lease") IS NOT DISTINCT FROM `).arg(whenMillis(f.Lease), "timestamptz")
	case !c.Lease.IsZero():
		// A delayed heartbeat never shortens a lease.
		p.write(` AND stored."lease" < `).arg(whenMillis(c.Lease), "timestamptz")
	case len(c.Steps) > 0:
		p.write(` AND coalesce(octet_length(stored."steps"), 0) <= `).arg(l.maxSize-len(encodeSteps(c.Steps)), "bigint")
	case c.Release == driver.ReleaseDelete:
		p.write(` AND coalesce(octet_length(stored."steps"), 0) = 0`)
	}
	if isTakeover(c) {
		p.write(" RETURNING ")
		l.row(p, true)
	}
	return p.statement()
}

func isTakeover(c driver.Change) bool { return c.Owner != "" && c.Status == driver.Absent }

// set writes the assignments of an update.
func (l *layout) set(p *phrase, c driver.Change) {
	separator := ""
	to := func(column string) *phrase {
		p.write(separator, column, " = ")
		separator = ", "
		return p
	}
	if c.Owner != "" {
		to(`"owner"`).arg(encodeText(c.Owner), "text")
	}
	if isTakeover(c) {
		to(`"attempt"`).write(`greatest(stored."attempt", 1) + 1`)
		to(`"steps"`).write(`coalesce(stored."steps", ''::bytea)`)
	}
	if !c.Lease.IsZero() {
		to(`"lease"`).arg(whenMillis(c.Lease), "timestamptz")
	}
	if !c.Expires.IsZero() {
		to(`"expires"`).arg(whenSeconds(c.Expires), "timestamptz")
	}
	if !c.Began.IsZero() {
		to(`"began"`).arg(whenMillis(c.Began), "timestamptz")
	}
	if c.Fingerprint != "" {
		to(`"fingerprint"`).write(`coalesce(nullif(stored."fingerprint", ''), `).arg(encodeText(c.Fingerprint), "text").write(")")
	}
	if len(c.Steps) > 0 {
		// Of two steps that are added at the same time, the second one waits and
		// appends to the first.
		to(`"steps"`).write(`coalesce(stored."steps", ''::bytea) || `).arg(encodeSteps(c.Steps), "bytea")
	}
	if c.Status != driver.Absent {
		to(`"status"`).arg(string(c.Status), "text")
		to(`"data"`).arg(bytesOf(c.Data), "bytea")
		to(`"payload"`).arg(encodeText(c.Payload), "text")
		to(`"unavailable"`).arg(encodeText(c.Unavailable), "text")
		to(`"steps"`).write("NULL")
		to(`"request"`).write("NULL")
		to(`"ended"`).arg(endingOf(c.Ended), "text")
		to(`"lease"`).write("NULL")
	}
	if c.Release != 0 {
		to(`"owner"`).write("''")
		to(`"lease"`).arg(whenMillis(driver.LeaseEnded), "timestamptz")
	}
	if c.Release == driver.ReleaseRefund {
		to(`"refunds"`).write(`stored."refunds" + 1`)
	}
}

// row writes the columns of a stored row, with NULL for its bytes unless it is whole.
func (l *layout) row(p *phrase, whole bool) {
	for n, c := range columns {
		if n > 0 {
			p.write(", ")
		}
		if whole || c.kind != bytesKind {
			p.write("stored.", c.name)
		} else {
			p.write("NULL::bytea AS ", c.name)
		}
	}
}
