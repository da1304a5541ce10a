// Package dynamo keeps the records of package idempotent in a DynamoDB table.
//
//	store, err := dynamo.New(dynamodb.NewFromConfig(cfg), "idempotency", nil)
//
// Package dynamoenv, a module of its own, makes one from the environment of a
// function.
//
// A claim costs one PutItem and a completion one UpdateItem, and a duplicate
// costs one PutItem: where the condition of a write fails, DynamoDB answers
// the stored record in the same round trip. Every write is conditional, so
// that two owners never both succeed, and none needs a read before it.
//
// The items are laid out as those of Powertools for AWS Lambda, so that
// functions in Python, TypeScript, Java, .NET and Go can share one table; see
// [Options] for their composite keys, attribute names and native results.
// Powertools writes without a fence. A record that it writes, too, has no
// guarantee beyond its live lease: a takeover by Powertools removes the owner,
// the attempts and the steps, and its late writes replace or delete the record
// of a successor. Do not share records with steps, transactions or
// idempotent.Config.MaxAttempts.
//
// # Results
//
// A result that is valid UTF-8 is stored as text as it is. Any other is
// stored as binary, tagged by its first byte, as are compressed results and
// the marker of a result that does not fit into an item. No text can be taken
// for one of these. Powertools does not know them: for TypeScript, its callers
// receive the bytes, without an error.
//
// # Transactions
//
// What a handler writes with [Transaction] is committed together with the
// completion of its call, in one TransactWriteItems: after a crash at any
// point, everything is there or nothing. Success is the commit, and not the
// handler's return.
//
//	func transfer(ctx context.Context, t Transfer) (Receipt, error) {
//		tx := dynamo.Transaction(ctx)
//		tx.Update("accounts", Key{ID: t.From},
//			expression.Add(expression.Name("balance"), expression.Value(-t.Amount)),
//			dynamo.If(expression.Name("balance").GreaterThanEqual(expression.Value(t.Amount))).
//				Else(func(*dynamo.TransactionError) error { return idempotent.Permanent(errFunds) }))
//		tx.Update("accounts", Key{ID: t.To},
//			expression.Add(expression.Name("balance"), expression.Value(t.Amount)),
//			dynamo.If(expression.Name("balance").AttributeExists())) // else it would make an account
//		return Receipt{ID: t.ID}, nil
//	}
//
// The request is built once, and has one ClientRequestToken: sent again after
// an answer that was lost, it is done once. Every item of it costs twice the
// write units of a plain write. A handler that has no other effects saves the
// claim by idempotent.Config.Optimistic.
//
// Messages that must go out if and only if the transaction is committed are
// written to an outbox with [Tx.Publish], and published from its stream; see
// package [github.com/lambda-once/once/dynamo/outbox].
//
// # Permissions
//
// The function's role needs dynamodb:PutItem, dynamodb:UpdateItem,
// dynamodb:DeleteItem and dynamodb:GetItem on the table. A transaction needs no
// action of its own, but on the tables of its additions what they are:
// dynamodb:PutItem, UpdateItem, DeleteItem, and ConditionCheckItem for
// [Tx.Check]; and PutItem on the outbox.
package dynamo
