package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/driver"
)

// withoutRetries leaves it to package idempotent to send a transaction again. If the SDK
// did, a refusal could hide an earlier copy that is committed later.
func withoutRetries(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }

// Commit commits a transaction alone, for a call that runs without a record, as
// [driver.Transactional] requires.
func (s *Store) Commit(ctx context.Context, id string, with any) error {
	if err := s.format.CheckID(id); err != nil {
		return s.refused("Commit", err)
	}
	t, err := transactionOf(with, true)
	if err != nil {
		return s.refused("Commit", err)
	}
	_, _, err = s.commit(ctx, t, arguments{store: s, id: id}, nil)
	return err
}

// commit sends a transaction.
func (s *Store) commit(ctx context.Context, t *Tx, a arguments, own *recordWrite) (driver.Record, bool, error) {
	r, err := t.request(a, own)
	if err != nil {
		return driver.Record{}, false, err
	}
	if len(r.input.TransactItems) == 0 {
		return driver.Record{}, true, nil
	}
	if !r.mayBeSent(t, time.Now()) {
		return driver.Record{}, false, &Error{Op: opTransact, Table: s.table, Tables: r.tables,
			Err:    errors.New("its token is older than 9 minutes, and DynamoDB may have forgotten it"),
			Advice: "whether it was committed is not known, and another try could commit it twice; check its items"}
	}
	_, err = s.client.TransactWriteItems(ctx, r.input, quiet, withoutRetries)
	if r.resultTooLarge(err) {
		if r, err = t.withoutResult(r); err != nil {
			return driver.Record{}, false, err
		}
		_, err = s.client.TransactWriteItems(ctx, r.input, quiet, withoutRetries)
	}
	if err == nil && r.own != nil {
		return r.own.leaves, true, nil
	}
	if err == nil {
		return driver.Record{}, true, nil
	}
	met, err := s.cancelled(t, r, err)
	if err == nil && met.Status == driver.Absent {
		// A reason without the item (as of some emulators) does not mean that
		// there is none. Without a record the outcome would be unknown.
		met, err = s.get(ctx, r.args.id)
	}
	return met, false, err
}
