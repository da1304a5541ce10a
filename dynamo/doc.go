// Package dynamo stores the records of package idempotent in a DynamoDB table.
//
//	store, err := dynamo.New(dynamodb.NewFromConfig(cfg), "idempotency", nil)
//
// Package dynamoenv opens a store from the environment of a function.
//
// A claim costs one PutItem, a completion one UpdateItem, and a duplicate one
// PutItem: if the condition of a write fails, DynamoDB returns the stored record
// in the same round trip. Every write is conditional, so that two owners never
// both succeed. No write needs a read before it.
//
// The items have the layout of Powertools for AWS Lambda, so that functions in
// Python, TypeScript, Java, .NET and Go can share one table. [Options] describes
// their composite keys, attribute names and native results. Powertools writes
// without a fence. A record that it also writes has no guarantee beyond its live
// lease: a takeover by Powertools removes the owner, the attempts and the steps,
// and its late writes replace or delete the record of a successor. Do not share
// records with steps, transactions or idempotent.Config.MaxAttempts.
//
// # Results
//
// A result that is valid UTF-8 is stored as text. Binary results, compressed ones,
// and the reason why a result that does not fit into an item is missing are stored
// as binary, with a tag in the first byte. Powertools does not know the tags:
// callers of Powertools for TypeScript receive the bytes, without an error.
//
// # Transactions
//
// The writes that a handler adds to its [Collect] are committed together with
// the completion of its call, in one TransactWriteItems. After a crash at any
// point, all of them are there or none. The call succeeds with the commit, not
// with the handler's return. The example of [Collect] moves money between two
// accounts.
//
// The request is built once, and has one ClientRequestToken: if it is sent again
// after a lost response, DynamoDB executes it once. Every item costs twice the
// write units of a plain write. A handler without further effects saves the claim
// with idempotent.Config.Optimistic.
//
// [Tx.Publish] writes messages to an outbox that must be published if and only if
// the transaction is committed. A relay publishes them from the table's stream;
// see package [github.com/lambda-once/once/dynamo/outbox].
//
// # Group commit
//
// With Options.Group, writes that find all requests under way share the next one,
// a PartiQL BatchExecuteStatement. Each of its statements makes the same write as
// the request of its own would, under the same condition, and has its own answer.
// A claim is the exception, because INSERT also fails on an expired record. That
// claim, a statement that failed, and all statements of a request whose answer was
// lost are sent again alone.
//
// # Permissions
//
// The function's role needs dynamodb:PutItem, dynamodb:UpdateItem,
// dynamodb:DeleteItem and dynamodb:GetItem on the table. With Options.Group it
// also needs dynamodb:PartiQLInsert, dynamodb:PartiQLUpdate,
// dynamodb:PartiQLDelete and dynamodb:BatchGetItem. A transaction needs the
// actions of its additions on their tables: dynamodb:PutItem, UpdateItem,
// DeleteItem, and ConditionCheckItem for [Tx.Check]. It needs PutItem on the
// outbox.
package dynamo
