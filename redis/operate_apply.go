package redis

import (
	"context"
	"strings"

	"github.com/lambda-once/once/idempotent/driver"
)

// Apply applies the change of an operator to a record that is stored exactly as e: see
// [driver.Operable]. After an error, the outcome is unknown. A client that repeats a
// script whose answer was lost may report ok false for its own write.
func (s *Store) Apply(ctx context.Context, e driver.Entry, c driver.Change) (driver.Entry, bool, error) {
	err := e.Validate(c)
	stored, ok := e.Stored.([]any)
	switch {
	case err != nil:
	case !ok:
		err = driver.ErrForeignEntry
	default:
		err = checkValues(nil, c.Lease, c.Expires)
	}
	if err != nil {
		return driver.Entry{}, false, refused("Apply", err)
	}
	args := append([]any{len(stored) / 2}, stored...)
	if c.Release != driver.ReleaseDelete {
		args = append(args, replacement(stored, e.Record, c)...)
	}
	code, hash, err := s.ask(ctx, s.scripts.apply, e.ID, args)
	if err != nil {
		return driver.Entry{}, false, err
	}
	return entry(e.ID, hash), code == codeApplied, nil
}

// replacement returns the fields and values of a record after c. Those that other
// programs have added stay.
func replacement(stored []any, r driver.Record, c driver.Change) (all []any) {
	changed := map[string]any{fieldLease: millis(c.Lease)}
	if c.Owner != "" || c.Release != 0 { // a redaction keeps the owner
		changed[fieldOwner] = c.Owner
	}
	if c.Release != 0 {
		changed[fieldLease], changed[fieldBegan] = millis(driver.LeaseEnded), ""
	}
	if c.Release == driver.ReleaseRefund {
		changed[fieldRefunds] = number(r.Refunds + 1)
	}
	if c.Status != driver.Absent {
		changed[fieldStatus], changed[fieldData] = string(c.Status), string(c.Data)
		changed[fieldPayload], changed[fieldUnavailable], changed[fieldRequest] = "", c.Unavailable, ""
		changed[fieldEnded] = c.Ended.Encode()
		if !c.Expires.IsZero() {
			changed[fieldExpires] = seconds(c.Expires)
		}
	}
	for n := 0; n+1 < len(stored); n += 2 {
		field, _ := stored[n].(string)
		_, is := changed[field]
		if !is && (c.Status == driver.Absent || !strings.HasPrefix(field, stepPrefix)) {
			all = append(all, field, stored[n+1])
		}
	}
	for field, value := range changed {
		if value != "" || field == fieldData && c.Data != nil {
			all = append(all, field, value)
		}
	}
	return all
}
