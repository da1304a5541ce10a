package main

import (
	"context"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/examples/internal/program"
)

// inOneTransaction writes nothing itself. Its writes are committed together with the
// completion of the call, when it has returned.
func (b *bank) inOneTransaction(ctx context.Context, t transfer) error {
	tx := dynamo.Collect(ctx)
	tx.Update(b.table, account(t.From), change(-t.Amount),
		dynamo.If(covers(t.Amount)).Else(func(e *dynamo.TransactionError) error { return refusedDebit(e.Item) }))
	tx.Update(b.table, account(t.To), change(t.Amount),
		dynamo.If(exists).Else(func(*dynamo.TransactionError) error { return refusedCredit() }))
	return program.Pause(ctx, b.delay)
}
