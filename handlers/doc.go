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
// run at most once, and reported at every delivery.
//
// Handlers are safe for concurrent use: an environment may have several
// invocations at a time (AWS_LAMBDA_MAX_CONCURRENCY).
package handlers
