// Package handlers provides a Lambda handler for every event source. Each wraps a
// function and makes its effects happen once:
//
//	lambda.Start(handlers.SQS(x, orderID, placeOrder, nil))
//
// # Queues, streams and topics
//
// All of them deliver at least once. A handler of this package decodes each
// record, determines its key (the source's own, or yours), and runs the function
// under the executor. It acknowledges a record that is already done, waits for a
// record that is running elsewhere, and reports a record that fails. This is the
// inbox pattern: the table of records is the inbox.
//
// A record of the table must outlive every delivery of its message. Set the
// executor's Retention longer than the source may deliver: for a queue, the
// retention of the queue plus that of its dead-letter queue, if you redrive
// messages. That of a FIFO queue counts twice.
//
//	source                      default key                         reports
//	SQS                         message id, or the inner id         the messages that failed
//	Kinesis, DynamoDBStream     stream and event id                 the first that failed
//	Kafka                       cluster, topic, partition, offset   the first of each partition
//	SNS, EventBridge            message id, event id                all or nothing
//	S3                          bucket, key, version, sequencer     all or nothing
//	ActiveMQ                    broker and message id               all or nothing
//	RabbitMQ                    none: a key function is required    all or nothing
//
// A handler never reports fewer failures than occurred. The invocation fails if
// the event has no records, or if a record has no id to report it by. A panic
// fails its record alone.
//
// A record that fails permanently (its body does not decode, it has no key, its
// error is [idempotent.Permanent]) runs at most once, and is reported at every
// delivery. This requires that the executor stores permanent errors: it does not
// with Config.ReleasePermanent, nor in a call that bypasses the store.
//
// # Late records
//
// With Config.RefuseLate, a record whose key was made too long ago runs only if its
// earlier call can be found: see [idempotent.KeyExpiredError]. Otherwise it is reported as
// failed at every delivery, until the source gives it up. The source then moves it to a
// dead-letter queue or a failure destination, if it has one. For messages of a broker
// Lambda has none: ActiveMQ moves them to dead letters of its own, and RabbitMQ delivers
// them until they expire. The record is acknowledged only if the option Late of [SQS] or a
// stream takes it, and the option Poison is not called. If the key function does not set
// Key.Issued, it is the time of the innermost event that has one:
//
//	source                      made
//	SQS                         SentTimestamp; a redrive sets it anew
//	Kinesis                     approximate arrival
//	DynamoDBStream              approximate creation
//	Kafka                       timestamp, if the topic has LogAppendTime
//	SNS, EventBridge            timestamp, time
//	S3                          event time
//	ActiveMQ                    arrival at the broker
//	RabbitMQ                    unknown
//
// # Chains
//
// A handler that sends messages to other functions sets on each an
// [idempotent.ChainKey], a key that is the same in all attempts, with
// [ChainAttributes], [ChainDetail] or httpapi.SetChainHeaders. [SQS], [SNS],
// [EventBridge], [Kafka] and [ActiveMQ] without a key function take it for the
// message's key: a message that is sent twice has its effects once. The keys that
// their functions derive continue it, root:step:step, so that one request can be
// followed through all of them.
//
// Anyone who may send to a queue, topic or bus can choose such a key, and thereby
// the keys of all that follows. Limit that with IAM. An HTTP handler continues a
// chain only if httpapi.Options.ContinueChains says that its clients can be
// trusted. The records of Kinesis, DynamoDB streams and S3 cannot carry a key:
// they begin chains.
//
// # Direct invocations
//
// [Invoke] protects functions that Step Functions or an SDK invokes directly. [Resume]
// finishes work that the callers of such functions, and of HTTP handlers, left behind.
//
// # Concurrency
//
// Handlers are safe for concurrent use: an environment may run several
// invocations at a time (AWS_LAMBDA_MAX_CONCURRENCY).
//
// Records of an event share goroutines, as invocations of a function do. A
// handler that locks its thread (runtime.LockOSThread) must unlock it before it
// returns: otherwise the next record runs on the locked thread. The same holds
// for debug.SetPanicOnFault. Each record begins with the profiler labels of its
// event's context, whatever the record before has set. A handler that ends its
// goroutine (runtime.Goexit) fails its record alone, with an [*UnfinishedError].
package handlers
