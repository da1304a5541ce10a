// Package relay publishes the messages that transactions have written to an outbox:
//
//	publish := sqspublisher.New(sqs.NewFromConfig(cfg), queueURL)
//	lambda.Start(relay.Outbox(publish, &relay.Options{Mark: box.MarkAll}))
//
// An outbox is a table with a stream, and [Outbox] handles the stream. It needs no
// executor: a message that it publishes twice has one id.
package relay
