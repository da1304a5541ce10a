package dynamo

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent"
)

// What is refused here would be misunderstood by DynamoDB, or by the next
// reader of the record. No error text holds an id, an owner or data.

func (s *Store) checkCreate(r idempotent.Record, with any) error {
	if err := s.layout.checkID(r.ID); err != nil {
		return err
	}
	if err := checkWith(with); err != nil {
		return err
	}
	switch r.Status {
	case idempotent.InProgress, idempotent.Completed, idempotent.Failed:
	default:
		return fmt.Errorf("dynamo: Create of a record with the status %q", r.Status)
	}
	if r.Attempt < 0 || r.Refunds < 0 {
		return errors.New("dynamo: Create of a record with a negative number of attempts or refunds")
	}
	if err := checkData(r.Data, r.Unavailable); err != nil {
		return err
	}
	return errors.Join(checkTimes(r.Lease, r.Expires), checkText(r.Owner, r.Fingerprint), checkSteps(r.Steps))
}

func (s *Store) checkChange(f idempotent.Fence, c idempotent.Change) error {
	if err := s.layout.checkID(f.ID); err != nil {
		return err
	}
	if err := checkWith(c.With); err != nil {
		return err
	}
	if err := checkCombination(c); err != nil {
		return err
	}
	if err := checkData(c.Data, c.Unavailable); err != nil {
		return err
	}
	return errors.Join(checkTimes(c.Lease, c.Expires), checkText(f.Owner, c.Owner, c.Fingerprint), checkSteps(c.Steps))
}

func checkCombination(c idempotent.Change) error {
	steps, lease, result := len(c.Steps) > 0, !c.Lease.IsZero(), c.Data != nil || c.Unavailable != ""
	if c.Release != 0 {
		switch {
		case c.Release > idempotent.ReleaseRefund:
			return fmt.Errorf("dynamo: Change with the unknown release %d", c.Release)
		case c.Owner != "" || lease || !c.Expires.IsZero() || steps || c.Fingerprint != "" || c.Status != "" || result:
			return errors.New("dynamo: Change with a release and something else")
		}
		return nil
	}
	if c.Status != "" {
		switch {
		case c.Status != idempotent.Completed && c.Status != idempotent.Failed:
			return fmt.Errorf("dynamo: Change to the status %q; only Completed and Failed are set by a change", c.Status)
		case lease || steps:
			return errors.New("dynamo: Change with a status and a lease or steps, which a finished record has not")
		}
		return nil
	}
	switch {
	case result:
		return errors.New("dynamo: Change with a result but no status")
	case steps && (lease || c.Owner != ""):
		return errors.New("dynamo: Change with steps and a lease or an owner")
	case c.Owner != "" && !lease:
		return errors.New("dynamo: Change with an owner but neither lease nor status")
	case !steps && !lease:
		return errors.New("dynamo: Change with nothing to do: no owner, lease, steps, status or release")
	}
	return nil
}

func checkWith(with any) error {
	if with != nil {
		return fmt.Errorf("dynamo: this store does not know writes of type %T", with)
	}
	return nil
}

func checkData(data []byte, reason string) error {
	if data != nil && reason != "" {
		return errors.New("dynamo: a record with both Data and Unavailable")
	}
	return nil
}

// checkTimes keeps to what decode accepts.
func checkTimes(lease, expires time.Time) error {
	if !lease.IsZero() && (lease.UnixMilli() < 0 || lease.UnixMilli() > maxMillis) {
		return errors.New("dynamo: a lease that is not between the years 1970 and 9999")
	}
	if !expires.IsZero() && (expires.Unix() < 0 || expires.Unix() > maxSeconds) {
		return errors.New("dynamo: an expiration that is not between the years 1970 and 9999")
	}
	return nil
}

// checkText refuses what the SDK would replace: two fingerprints that differ
// only in bytes that are not UTF-8 would become equal.
func checkText(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return errors.New("dynamo: an owner, fingerprint or name of a step that is not valid UTF-8")
		}
	}
	return nil
}

func checkSteps(steps map[string][]byte) error {
	for name := range steps {
		if name == "" {
			return errors.New("dynamo: a step without a name")
		}
		if err := checkText(name); err != nil {
			return err
		}
	}
	return nil
}
