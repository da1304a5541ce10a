package dynamo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// These checks refuse what DynamoDB, or the next reader of the record, would
// misunderstand. No error text contains an id, an owner or data.

func (s *Store) checkCreate(r driver.Record, with any) error {
	if err := s.format.CheckID(r.ID); err != nil {
		return err
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if with != nil && r.Status == driver.InProgress {
		return errNotFinishing
	}
	if r.Attempt < 0 || r.Refunds < 0 {
		return errors.New("Create of a record with a negative number of attempts or refunds")
	}
	return errors.Join(recorditem.CheckTimes(r.Lease, r.Expires), checkText(r.Owner, r.Fingerprint))
}

func (s *Store) checkChange(f driver.Fence, c driver.Change) error {
	if err := s.format.CheckID(f.ID); err != nil {
		return err
	}
	if err := c.Validate(f); err != nil {
		return err
	}
	if c.With != nil && c.Status == driver.Absent {
		return errNotFinishing
	}
	names := slices.Collect(maps.Keys(c.Steps))
	return errors.Join(recorditem.CheckTimes(c.Lease, c.Expires), checkText(f.Owner, c.Owner, c.Fingerprint), checkText(names...))
}

// transactionOf returns nil for no transaction.
func transactionOf(with any) (*Tx, error) {
	if with == nil {
		return nil, nil
	}
	t, ok := with.(*Tx)
	if !ok || t == nil {
		return nil, fmt.Errorf("this store commits a *dynamo.Tx that is not nil, and no %T", with)
	}
	return t, nil
}

var errNotFinishing = errors.New("only a write that finishes the record takes a transaction")

// checkText refuses what the SDK would replace: two fingerprints that differ
// only in bytes that are not UTF-8 would become equal.
func checkText(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return errors.New("an owner, fingerprint or name of a step that is not valid UTF-8")
		}
	}
	return nil
}
