package main

import (
	"context"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
)

const aboutRedact = `
Removes what a finished record stores about a person, and keeps its guarantee: the
result, or the text of the error, goes. The status, times, attempts, the type and
code of the error, and the hashes of key and payload stay. Calls with the key run
nothing, and get a ResultUnavailableError, or over HTTP a problem that says it. A
failure stays permanent. The id of a Key.Record is no hash, and stays as it is; a failure
that a version without endings stored loses its type.

An object in Payloads is named by its content, and further records may have the
same: redact names it, and deletes none. Functions with a cache (CacheEntries)
replay the result until their processes end. Backups, logs, and the messages of
queues and of the outbox keep what they have.

A durable execution that is replayed by its service runs its handler again, as it does
without a result. Stop such executions first.

redact refuses a record in progress. Its next attempt needs the steps and the
request that it stores.
`

func redact(ctx context.Context, c *cli.Call) error {
	var o record.Redaction
	return act(ctx, c, &o, &o.Statement, nil)
}
