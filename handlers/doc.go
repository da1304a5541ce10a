// Package handlers has a Lambda handler for every trigger, each around a
// function that is to have its effects once:
//
//	lambda.Start(handlers.SQS(x, orderID, placeOrder, nil))
//
// # Queues, streams and topics
//
// All of them deliver at least once. A handler of this package decodes each
// record, gives it a key (the source's own, or yours), and runs the function
// under the executor: what is done already is acknowledged without running,
// what runs elsewhere is waited for, what fails comes back. This is the inbox
// pattern: the table of records is the inbox, and a record of it has to outlive
// every delivery of its message. So the executor's Retention has to be longer
// than the source may deliver: for a queue, the retention of the queue and that
// of its dead-letter queue together, if messages are redriven from there.
//
//	source                      key without one of yours            answer
//	SQS                         message id, or the inner id         the messages that failed
//	Kinesis, DynamoDBStream     stream and event id                 the first that failed
//	Kafka                       cluster, topic, partition, offset   the first of each partition
//	SNS, EventBridge            message id, event id                all or nothing
//	S3                          bucket, key, version, sequencer     all or nothing
//	ActiveMQ                    broker and message id               all or nothing
//	RabbitMQ                    none: one of yours is needed        all or nothing
//
// Never are fewer failures reported than there were. A record that has no id
// to report it by fails the invocation, and so does an event without records.
// A panic fails its record alone. A record that fails for good (its body does
// not decode, it has no key, its error was marked [idempotent.Permanent]) is
// run at most once, and reported at every delivery. That is so while the
// executor stores permanent errors: not with Config.ReleasePermanent, and not
// in a call that bypasses the store.
//
// # Outboxes
//
// [OutboxRelay] publishes what transactions have left in an outbox, a table
// with a stream, and needs no executor: what it publishes twice has one id.
//
// # Chains
//
// A handler that sends messages to other functions gives each a key that is
// the same in all of its attempts, an [idempotent.ChainKey], with
// [ChainAttributes], [ChainDetail] or [SetChainHeaders]. [SQS], [SNS],
// [EventBridge], [Kafka] and [ActiveMQ] take it for the message's key where
// they are given no key function: a message that is sent twice has its effects
// once. The keys that their functions derive continue it, root:step:step, so
// that one request can be followed through all of them.
//
// Whoever may send to a queue, topic or bus can choose such a key, and with it
// those of all that follows. That is for IAM to limit. An HTTP handler goes on
// with a chain only where [HTTPOptions].ContinueChains says that its clients
// can be trusted. The records of Kinesis, DynamoDB streams and S3 have no
// place for a key of their own: they begin chains.
//
// # HTTP
//
// [APIGatewayV2], [APIGateway], [ALB] and [FunctionURL] protect handlers of
// HTTP events, and [Middleware] those of net/http, by the header
// Idempotency-Key of draft-ietf-httpapi-idempotency-key-header-07. They are one
// implementation: the adapters translate and decide nothing. A key
// that is in the body, as of a webhook, or elsewhere, is found by
// [HTTPOptions].Key.
//
// The first client gets the handler's answer as it is. A repetition, which has
// the same key, method, path, query and body, gets the stored status, headers
// and body, marked with Idempotent-Replayed: true. Whoever comes while the
// first request is running is told when to come again (409), and whoever uses
// the key for another request that it is used (422). A request without a key,
// or with a malformed one, is refused (400) before anything is looked up.
// Answers of this package are problems (RFC 9457); they quote neither keys nor
// bodies, and are not stored. Only where an answer of a [Middleware] is too
// large to be kept, the problem that says so is stored in its place.
//
// Answers that report an error of the server, or refuse before any effect, are
// not stored either: they release the key. See [HTTPOptions].
//
// A handler that fails returns a [StatusError], or passes it to [Fail]. Where
// its status is kept, the request fails for good and its saga is undone. An
// answer that a handler makes by itself counts as a success, whatever its
// status.
//
// A key belongs to its caller. Whose it is has to be said with a [Scope], which
// has no default: two callers must never share an answer by accident.
// [NoIdentity] says that all of them share their keys.
//
// Answers that are streamed cannot be kept: the types of streaming answers are
// not taken here, and a Middleware holds the answer back up to a limit.
//
// [Invoke] is for functions that Step Functions or an SDK invokes directly.
//
// # Concurrency
//
// Handlers are safe for concurrent use: an environment may have several
// invocations at a time (AWS_LAMBDA_MAX_CONCURRENCY).
package handlers
