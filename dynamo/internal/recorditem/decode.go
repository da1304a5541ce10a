package recorditem

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

// The last times that are accepted: the end of the year 9999. A larger
// expiration is most likely one in milliseconds, which must not pass for a
// record that never expires.
const (
	MaxSeconds = 253402300799
	MaxMillis  = MaxSeconds*1000 + 999
)

// Record returns the record in an item. Records of Powertools contain no owner,
// attempt, refunds or steps. Every attribute that is present must have the right
// type and be in range: a claim that is guessed from a broken item could run work
// twice.
func (f *Format) Record(item map[string]types.AttributeValue) (driver.Record, error) {
	r, problems := f.Readable(item)
	if len(problems) > 0 {
		return driver.Record{}, problems[0]
	}
	return r, nil
}

// Readable returns as much of a record as can be read, and all errors of the rest.
func (f *Format) Readable(item map[string]types.AttributeValue) (driver.Record, []error) {
	a := &f.Attr
	d := decoder{item: item}
	r := driver.Record{
		ID:          d.text(cmp.Or(a.SortKey, a.ID), false),
		Status:      driver.Status(d.text(a.Status, false)),
		Owner:       d.text(a.Owner, true),
		Attempt:     d.number(a.Attempt, 1, 1<<62, 0),
		Refunds:     d.number(a.Refunds, 0, 1<<62, 0),
		Fingerprint: d.fingerprint(a.Validation),
	}
	const absent = -1
	if n := d.millis(a.Lease, absent); n != absent {
		r.Lease = time.UnixMilli(n)
	}
	if n := d.number(a.Expiration, 0, MaxSeconds, absent); n != absent {
		r.Expires = time.Unix(n, 0)
	}
	if n := d.number(a.Began, 0, MaxMillis, absent); n != absent {
		r.Began = time.UnixMilli(n)
	}
	if v, ok := item[a.Ended].(*types.AttributeValueMemberS); ok {
		r.Ended = driver.DecodeEnding(v.Value)
	}
	if v, ok := item[a.Request]; ok {
		data, err := f.decodeStep(v)
		if err != nil {
			d.fail(a.Request, err)
		}
		r.Request = data
	}
	if v, ok := item[a.Data]; ok {
		stored, err := f.decode(v)
		if err != nil {
			d.fail(a.Data, err)
		}
		r.Data, r.Payload, r.Unavailable = stored.data, stored.payload, stored.unavailable
	}
	steps, err := f.steps(item[a.Steps])
	if err != nil {
		d.fail(a.Steps, err)
	}
	r.Steps = steps
	return r, d.problems
}

// steps returns nil for no steps, whether the map is present or not. A step that
// cannot be read has a nil result, and the last of them an error.
func (f *Format) steps(v types.AttributeValue) (_ map[string][]byte, err error) {
	if v == nil {
		return nil, nil
	}
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("it has type %s, not M", attribute.TypeName(v))
	}
	if len(m.Value) == 0 {
		return nil, nil
	}
	steps := make(map[string][]byte, len(m.Value))
	for name, v := range m.Value {
		data, failed := f.decodeStep(v)
		if failed != nil {
			err = failed
		}
		steps[name] = data
	}
	return steps, err
}

// decoder reads attributes and records the errors. Their texts name attributes and
// types, never values.
type decoder struct {
	item     map[string]types.AttributeValue
	problems []error
}

func (d *decoder) fail(name string, err error) {
	d.problems = append(d.problems, fmt.Errorf("attribute %q: %w", name, err))
}

func (d *decoder) failType(name, want string) {
	d.fail(name, fmt.Errorf("it has type %s, not %s", attribute.TypeName(d.item[name]), want))
}

// text is not empty if the attribute is present: "" stands for an absent one
// in a Fence, which would then never hold.
func (d *decoder) text(name string, optional bool) string {
	v, ok := d.item[name].(*types.AttributeValueMemberS)
	switch {
	case ok && v.Value == "":
		d.fail(name, errors.New("it is empty"))
	case ok:
		return v.Value
	case d.item[name] != nil:
		d.failType(name, "S")
	case !optional:
		d.fail(name, errors.New("it is missing"))
	}
	return ""
}

// fingerprint may be empty or NULL. Both mean that there is none.
func (d *decoder) fingerprint(name string) string {
	switch v := d.item[name].(type) {
	case *types.AttributeValueMemberNULL:
		return ""
	case *types.AttributeValueMemberS:
		return v.Value
	}
	return d.text(name, true)
}

// millis rounds a lease up. Powertools for TypeScript adds the remaining time as its
// caller computes it, which may be a fraction.
func (d *decoder) millis(name string, absent int64) int64 {
	v, ok := d.item[name].(*types.AttributeValueMemberN)
	if !ok {
		return d.number(name, 0, MaxMillis, absent)
	}
	n, ok := wholeMillis(v.Value)
	if !ok {
		d.fail(name, fmt.Errorf("it is not a number from 0 to %d", MaxMillis))
		return absent
	}
	return n
}

// wholeMillis returns a stored lease in milliseconds, rounded up: a lease never ends
// early.
func wholeMillis(stored string) (int64, bool) {
	whole, fraction, _ := strings.Cut(stored, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	digits := strings.Trim(fraction, "0123456789") == ""
	if strings.Trim(fraction, "0") != "" {
		n++
	}
	return n, err == nil && digits && n >= 0 && n <= MaxMillis && whole[0] != '-'
}

func (d *decoder) number(name string, low, high, absent int64) int64 {
	v, ok := d.item[name].(*types.AttributeValueMemberN)
	if !ok {
		if d.item[name] != nil {
			d.failType(name, "N")
		}
		return absent
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil || n < low || n > high {
		d.fail(name, fmt.Errorf("it is not a whole number from %d to %d", low, high))
		return absent
	}
	return n
}
