package postgres

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lambda-once/once/idempotent/driver"
)

// A row is a stored record.
type row struct {
	driver.Record
	size int // of the encoded steps
}

// bytes returns about how many bytes the row takes, uncompressed.
func (r row) bytes() int {
	const numbers = 5 * 8
	return len(r.ID) + len(r.Status) + len(r.Owner) + len(r.Fingerprint) + len(r.Payload) + len(r.Unavailable) + len(r.Data) + len(r.Request) + len(r.Ended.Encode()) + r.size + numbers
}

// An unreadableError lists why calls cannot read a stored row.
type unreadableError struct{ problems []string }

func (e *unreadableError) Error() string { return strings.Join(e.problems, "; ") }

// scan reads a row of all columns. Its values before them are read into first. With an
// [*unreadableError], it returns the part that can be read.
func scan(rows pgx.Rows, first ...any) (row, error) {
	var r row
	var id, status, owner, fingerprint, payload, unavailable string
	var lease, expires, began instant
	var steps []byte
	var ended pgtype.Text
	err := rows.Scan(append(first, &id, &status, &owner, &r.Attempt, &r.Refunds, &lease, &expires,
		&fingerprint, &payload, &unavailable, &r.Data, &steps, &began, &r.Request, &ended)...)
	if err != nil {
		return row{}, err
	}
	var problems []string
	text := func(stored string) string {
		decoded, err := decodeText(stored)
		if err != nil {
			problems = append(problems, err.Error())
			return stored
		}
		return decoded
	}
	r.ID, r.Owner, r.Fingerprint, r.Payload, r.Unavailable = text(id), text(owner), text(fingerprint), text(payload), text(unavailable)
	r.Status = driver.Status(status)
	r.Lease, r.Expires, r.Began = driver.WholeMillis(lease.Time), driver.WholeSeconds(expires.Time), driver.WholeMillis(began.Time)
	if lease.isPast || expires.isPast || began.isPast {
		problems = append(problems, "a time is -infinity")
	}
	r.Ended = driver.DecodeEnding(ended.String)
	r.size = len(steps)
	if r.Steps, err = decodeSteps(steps); err != nil {
		problems = append(problems, err.Error())
	}
	if problems != nil {
		return r, &unreadableError{problems}
	}
	return r, nil
}

// An instant is a time in a column. NULL and infinity, which an operator may store for
// "never", are the zero time.
type instant struct {
	time.Time
	isPast bool // -infinity, which no store writes
}

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (i *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	i.Time, i.isPast = v.Time, v.InfinityModifier == pgtype.NegativeInfinity
	return nil
}

// escaped begins the stored form of a string that PostgreSQL would refuse as
// text.
const escaped = `\x`

// encodeText returns a string that PostgreSQL accepts as text. All that it accepts
// stays readable: ids, owners and fingerprints of package idempotent always do.
func encodeText(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.HasPrefix(s, escaped) {
		return s
	}
	return escaped + hex.EncodeToString([]byte(s))
}

var errText = errors.New("a text column contains an escape that the store never writes")

func decodeText(s string) (string, error) {
	digits, ok := strings.CutPrefix(s, escaped)
	if !ok {
		return s, nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errText, err)
	}
	return string(b), nil
}

// whenMillis and whenSeconds return the arguments for times, nil for absent ones.
func whenMillis(t time.Time) any { return when(driver.WholeMillis(t)) }

func whenSeconds(t time.Time) any { return when(driver.WholeSeconds(t)) }

func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// bytesOf returns an argument that is NULL only for absent data.
func bytesOf(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// endingOf returns the argument for an ending, nil for an absent one.
func endingOf(e driver.Ending) any {
	if text := e.Encode(); text != "" {
		return text
	}
	return nil
}

// maxReason bounds the reason why a result is unavailable.
const maxReason = 4 << 10

// fit returns r as it is stored.
func (l *layout) fit(r driver.Record) driver.Record {
	r.Lease, r.Expires, r.Began = driver.WholeMillis(r.Lease), driver.WholeSeconds(r.Expires), driver.WholeMillis(r.Began)
	if r.Status != driver.InProgress {
		r.Lease = time.Time{}
	}
	r.Steps = nil
	r.Data, r.Unavailable = l.fitResult(r.Data, r.Unavailable)
	return r
}

// fitResult replaces a result that is too large. That is not an error: the work is
// done, and without the record a retry would do it again.
func (l *layout) fitResult(data []byte, unavailable string) ([]byte, string) {
	if len(data) > l.maxSize {
		return nil, fmt.Sprintf("the result of %d bytes is larger than the %d bytes of postgres.Options.MaxSize", len(data), l.maxSize)
	}
	return data, unavailable[:min(len(unavailable), maxReason)]
}

// refusedSize returns the reason why the result data is unavailable that the
// server refused for its size.
func refusedSize(data []byte) string {
	return fmt.Sprintf("the result of %d bytes is larger than the server allows", len(data))
}

// checkRequest returns a [*sizeError] for a request that does not fit.
func (l *layout) checkRequest(request []byte) error {
	if len(request) > l.maxSize {
		return &sizeError{what: "the request", size: len(request), limit: l.maxSize}
	}
	return nil
}

// checkSize returns a [*sizeError] if the steps of c do not fit into the record
// that was read.
func (l *layout) checkSize(met row, c driver.Change) error {
	if len(c.Steps) == 0 {
		return nil
	}
	if size := met.size + len(encodeSteps(c.Steps)); size > l.maxSize {
		return &sizeError{what: "the steps of the record", size: size, limit: l.maxSize}
	}
	return nil
}
