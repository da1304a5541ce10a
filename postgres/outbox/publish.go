package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Publish publishes at most limit items, the oldest first, and returns their number. Of
// each aggregate it takes only the oldest item that is unpublished, so that messages of one
// aggregate go out in order, whatever the number of relays: call Publish until it
// returns 0.
//
// The function publish publishes the messages of an item, in order. If it returns an error,
// the item stays, with everything behind it in its aggregate. After the other items,
// Publish returns a [*PublishError].
//
// The items are locked in a transaction until the last one is published. If it is not
// committed, they are published again, with the same ids. So limit times the time for an
// item should be some seconds.
func (o *Outbox) Publish(ctx context.Context, limit int, publish func(context.Context, Item) error) (published int, err error) {
	conn, err := o.db.Acquire(ctx)
	if err != nil {
		return 0, o.fail("Publish", err)
	}
	defer conn.Release()
	// With another isolation level, a row that another relay has marked since is an error
	// instead of being skipped.
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return 0, o.fail("Publish", err)
	}
	defer func() {
		// After a commit it does nothing.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	items, errs, err := o.lock(ctx, tx, limit)
	if err != nil {
		return 0, o.fail("Publish", err)
	}
	var aggregates, ids []string
	for _, item := range items {
		if err := publish(ctx, item); err != nil {
			errs = append(errs, err)
			continue
		}
		aggregates, ids = append(aggregates, item.Aggregate), append(ids, item.ID)
	}
	// What is out must be marked, even if the caller has given up.
	settled, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, err = tx.Exec(settled, "UPDATE "+o.table+" SET published = clock_timestamp()"+
		" WHERE (aggregate, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))", aggregates, ids)
	if err == nil {
		err = tx.Commit(settled)
	}
	if err != nil {
		return 0, unpublished(append(errs, o.fail("Publish", err)))
	}
	return len(ids), unpublished(errs)
}

// A PublishError reports that items were not published, or not marked as published. They
// are published again.
type PublishError struct {
	Errs []error // of the function publish, and of this package
}

func (e *PublishError) Error() string {
	return "outbox: not published, or not marked: " + errors.Join(e.Errs...).Error()
}

// Unwrap returns Errs.
func (e *PublishError) Unwrap() []error { return e.Errs }

func unpublished(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return &PublishError{Errs: errs}
}

// lock reads and locks the first item of each aggregate. A row that is locked already is
// another relay's. The rows behind it are not taken: they see it unpublished until that
// relay has committed.
func (o *Outbox) lock(ctx context.Context, tx pgx.Tx, limit int) (items []Item, errs []error, err error) {
	rows, err := tx.Query(ctx, "SELECT "+columns+" FROM "+o.table+" AS item WHERE published IS NULL AND NOT EXISTS"+
		" (SELECT FROM "+o.table+" AS earlier WHERE earlier.aggregate = item.aggregate AND earlier.published IS NULL"+
		" AND (earlier.created, earlier.id) < (item.created, item.id))"+
		" ORDER BY created, id LIMIT $1::int FOR UPDATE SKIP LOCKED", limit)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		item, err := read(rows)
		if err != nil {
			errs = append(errs, o.unreadable(err))
			continue
		}
		items = append(items, item)
	}
	return items, errs, rows.Err()
}

// maxItems is what Run locks at once.
const maxItems = 20

// Run calls [Outbox.Publish] until ctx is done, and returns the cause. failed is called
// with each error. After an error, and when there is nothing to publish, Run waits for
// Options.Interval, or until a notification comes.
func (o *Outbox) Run(ctx context.Context, publish func(context.Context, Item) error, failed func(error)) error {
	var ear *pgxpool.Conn
	defer func() { o.deaf(ear) }()
	for ctx.Err() == nil {
		if o.channel != "" && ear == nil {
			var err error
			if ear, err = o.listen(ctx); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}
		n, err := o.Publish(ctx, maxItems, publish)
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		if n == 0 || err != nil {
			ear = o.wait(ctx, ear)
		}
	}
	return context.Cause(ctx)
}

// wait returns ear, or nil if its connection is lost.
func (o *Outbox) wait(ctx context.Context, ear *pgxpool.Conn) *pgxpool.Conn {
	ctx, cancel := context.WithTimeout(ctx, o.interval)
	defer cancel()
	if ear != nil {
		if _, err := ear.Conn().WaitForNotification(ctx); err == nil || ctx.Err() != nil && !ear.Conn().IsClosed() {
			return ear
		}
		o.deaf(ear)
	}
	<-ctx.Done()
	return nil
}

func (o *Outbox) listen(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := o.db.Acquire(ctx)
	if err != nil {
		return nil, o.fail("Run", err)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+o.channel); err != nil {
		conn.Release()
		return nil, o.fail("Run", err)
	}
	return conn, nil
}

// deaf closes the connection: in the pool, it would go on listening.
func (o *Outbox) deaf(ear *pgxpool.Conn) {
	if ear == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = ear.Conn().Close(ctx)
	ear.Release()
}
