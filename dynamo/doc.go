// Package dynamo keeps the records of package idempotent in a DynamoDB table.
//
//	store, err := dynamo.New(dynamodb.NewFromConfig(cfg), "idempotency", nil)
//
// A claim costs one PutItem and a completion one UpdateItem, and a duplicate
// costs one PutItem: where the condition of a write fails, DynamoDB answers
// the stored record in the same round trip. Every write is conditional, so
// that two owners never both succeed, and none needs a read before it.
//
// The items are laid out as those of Powertools for AWS Lambda, so that
// functions in Python, TypeScript, Java, .NET and Go can share one table; see
// [Options] for their composite keys, attribute names and native results.
//
// # Results
//
// A result that is valid UTF-8 is stored as text as it is. Any other is
// stored as binary, tagged by its first byte, as are compressed results and
// the marker of a result that does not fit into an item. No text can be taken
// for one of these, and a reader that does not know them fails rather than
// returning something else.
//
// # Permissions
//
// The function's role needs dynamodb:PutItem, dynamodb:UpdateItem,
// dynamodb:DeleteItem and dynamodb:GetItem on the table.
package dynamo
