package dynamo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// These checks refuse values that DynamoDB, or the next reader of the record, would
// misunderstand. No error text contains an id, an owner or data.

// checkCreate returns the transaction of a Create, or nil for none.
func (s *Store) checkCreate(r driver.Record, with any) (*Tx, error) {
	if err := s.format.CheckID(r.ID); err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if err := errors.Join(recorditem.CheckTimes(r.Lease, r.Expires, r.Began), checkText(r.Owner, r.Fingerprint)); err != nil || with == nil {
		return nil, err
	}
	return transactionOf(with, r.Status != driver.InProgress)
}

// checkRequest returns an error for a record that does not fit into its item with its
// request. DynamoDB refuses requests far above its limit in ways that depend on their size.
func checkRequest(item map[string]types.AttributeValue) error {
	if size := attribute.ItemSize(item); size > attribute.MaxItemSize {
		return fmt.Errorf("the record has %d bytes with its request; %w", size, errItemSize)
	}
	return nil
}

// checkChange returns the transaction of a Change, or nil for none.
func (s *Store) checkChange(f driver.Fence, c driver.Change) (*Tx, error) {
	if err := s.format.CheckID(f.ID); err != nil {
		return nil, err
	}
	if err := c.Validate(f); err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(c.Steps))
	err := errors.Join(recorditem.CheckTimes(c.Lease, c.Expires, c.Began), checkText(f.Owner, c.Owner, c.Fingerprint), checkText(names...))
	if err != nil || c.With == nil {
		return nil, err
	}
	return transactionOf(c.With, c.Status != driver.Absent)
}

func transactionOf(with any, finishes bool) (*Tx, error) {
	a, ok := with.(*attachment)
	switch {
	case !finishes:
		return nil, errors.New("only a write that finishes the record takes a transaction")
	case !ok || a == nil:
		return nil, fmt.Errorf("this store commits the transaction of dynamo.Collect, and no %T", with)
	}
	return (*Tx)(a), nil
}

// checkText refuses text whose bytes the SDK would replace: two fingerprints that
// differ only in bytes that are not UTF-8 would become equal.
func checkText(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return errors.New("an owner, fingerprint or name of a step that is not valid UTF-8")
		}
	}
	return nil
}
