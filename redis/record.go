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
	fieldBegan       = "began"
	fieldData        = "data"
	fieldEnded       = "ended"
	fieldExpires     = "expires"
	fieldFingerprint = "fingerprint"
	fieldLease       = "lease"
	fieldOwner       = "owner"
	fieldPayload     = "payload"
	fieldRefunds     = "refunds"
	fieldRequest     = "request"
	fieldStatus      = "status"
	fieldUnavailable = "unavailable"
	stepPrefix       = "step:"
)

// pairs appends the fields and values that r sets, beside its steps, with this owner. The
// times are arguments already, so that they are allocated once.
func pairs(args []any, lease, expires any, r driver.Record, owner string) []any {
	// The lease comes first; see extend.lua.
	args = present(args, fieldLease, lease, fieldExpires, expires, fieldStatus, string(r.Status),
		fieldOwner, owner, fieldPayload, r.Payload, fieldUnavailable, r.Unavailable, fieldEnded, r.Ended.Encode())
	if r.Data != nil {
		args = append(args, fieldData, string(r.Data))
	}
	return args
}

// fields appends the fields and values of a new record, whose times are arguments already.
func fields(args []any, lease, expires any, r driver.Record) []any {
	args = present(pairs(args, lease, expires, r, r.Owner), fieldAttempt, number(r.Attempt), fieldFingerprint, r.Fingerprint,
		fieldRefunds, number(r.Refunds), fieldBegan, millis(r.Began))
	if r.Request != nil {
		args = append(args, fieldRequest, string(r.Request))
	}
	return args
}

// present appends the fields whose values are not empty. Values are strings and numbers,
// which do not change while they are sent.
func present(args []any, fieldsAndValues ...any) []any {
	for n := 0; n < len(fieldsAndValues); n += 2 {
		if fieldsAndValues[n+1] != "" {
			args = append(args, fieldsAndValues[n], fieldsAndValues[n+1])
		}
	}
	return args
}

// steps appends the fields and values of steps.
func steps(args []any, steps map[string][]byte) []any {
	for name, data := range steps {
		args = append(args, stepPrefix+name, string(data))
	}
	return args
}

// number returns "" for 0, which stands for absent.
func number(n int64) any {
	if n == 0 {
		return ""
	}
	return n
}

func millis(t time.Time) any {
	if t.IsZero() {
		return ""
	}
	return t.UnixMilli()
}

func seconds(t time.Time) any {
	if t.IsZero() {
		return ""
	}
	return t.Unix()
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
	case fieldAttempt, fieldBegan, fieldExpires, fieldLease, fieldRefunds:
		var err error
		if n, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("%w: its field %q is no number", errNoRecord, field)
		}
	}
	switch field {
	case fieldAttempt:
		r.Attempt = n
	case fieldBegan:
		r.Began = time.UnixMilli(n)
	case fieldData:
		r.Data = []byte(value)
	case fieldEnded:
		r.Ended = driver.DecodeEnding(value)
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
	case fieldRequest:
		r.Request = []byte(value)
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
