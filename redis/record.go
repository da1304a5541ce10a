package redis

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// The fields of a record's hash. Those of steps are named after the step.
const (
	fieldAttempt     = "attempt"
	fieldData        = "data"
	fieldExpires     = "expires"
	fieldFingerprint = "fingerprint"
	fieldLease       = "lease"
	fieldOwner       = "owner"
	fieldPayload     = "payload"
	fieldRefunds     = "refunds"
	fieldStatus      = "status"
	fieldUnavailable = "unavailable"
	stepPrefix       = "step:"
)

// pairs returns the fields and values that r sets, beside its steps, with this owner.
func pairs(r driver.Record, owner string) []any {
	// The lease comes first; see extend.lua.
	all := present(fieldLease, millis(r.Lease), fieldExpires, seconds(r.Expires), fieldStatus, string(r.Status),
		fieldOwner, owner, fieldPayload, r.Payload, fieldUnavailable, r.Unavailable)
	if r.Data != nil {
		all = append(all, fieldData, string(r.Data))
	}
	return all
}

// fields returns the fields and values of a new record.
func fields(r driver.Record) []any {
	return append(pairs(r, r.Owner), present(fieldAttempt, number(r.Attempt), fieldFingerprint, r.Fingerprint,
		fieldRefunds, number(r.Refunds))...)
}

// present returns the fields whose values are not empty. Values are strings, which do not
// change while they are sent.
func present(fieldsAndValues ...string) (all []any) {
	for n := 0; n < len(fieldsAndValues); n += 2 {
		if fieldsAndValues[n+1] != "" {
			all = append(all, fieldsAndValues[n], fieldsAndValues[n+1])
		}
	}
	return all
}

func steps(steps map[string][]byte) []any {
	var all []any
	for name, data := range steps {
		all = append(all, stepPrefix+name, string(data))
	}
	return all
}

// number returns "" for 0, which stands for absent.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func seconds(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.Unix(), 10)
}

var errNoRecord = errors.New("a stored hash is not a record")

// record decodes the fields and values of a hash. No fields are no record.
func record(id string, hash []any) (driver.Record, error) {
	if len(hash) == 0 {
		return driver.Record{}, nil
	}
	r, problems := readable(id, hash)
	if len(problems) > 0 {
		return driver.Record{}, problems[0]
	}
	return r, nil
}

// readable returns as much of a record as can be read, and the reasons for which record
// returns an error.
func readable(id string, hash []any) (r driver.Record, problems []error) {
	r.ID = id
	for n := 0; n+1 < len(hash); n += 2 {
		field, ok := hash[n].(string)
		value, isString := hash[n+1].(string)
		if !ok || !isString {
			problems = append(problems, fmt.Errorf("%w: a field of type %T, %T", errNoRecord, hash[n], hash[n+1]))
		} else if err := set(&r, field, value); err != nil {
			problems = append(problems, err)
		}
	}
	switch r.Status {
	case driver.InProgress, driver.Completed, driver.Failed:
	default:
		problems = append(problems, fmt.Errorf("%w: its status is %q", errNoRecord, r.Status))
	}
	return r, problems
}

func set(r *driver.Record, field, value string) error {
	var n int64
	switch field {
	case fieldAttempt, fieldExpires, fieldLease, fieldRefunds:
		var err error
		if n, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("%w: its field %q is no number", errNoRecord, field)
		}
	}
	switch field {
	case fieldAttempt:
		r.Attempt = n
	case fieldData:
		r.Data = []byte(value)
	case fieldExpires:
		r.Expires = time.Unix(n, 0)
	case fieldFingerprint:
		r.Fingerprint = value
	case fieldLease:
		r.Lease = time.UnixMilli(n)
	case fieldOwner:
		r.Owner = value
	case fieldPayload:
		r.Payload = value
	case fieldRefunds:
		r.Refunds = n
	case fieldStatus:
		r.Status = driver.Status(value)
	case fieldUnavailable:
		r.Unavailable = value
	default:
		name, ok := strings.CutPrefix(field, stepPrefix)
		if !ok {
			return nil // of a newer version
		}
		if r.Steps == nil {
			r.Steps = make(map[string][]byte)
		}
		r.Steps[name] = []byte(value)
	}
	return nil
}
