// Package eventsource feeds the messages of an SQS queue to a function, as Lambda's
// event source mapping does.
//
//	mapping := eventsource.Mapping{
//		Client: client, QueueURL: queue.URL, QueueARN: queue.ARN,
//		Invoke:                  runtime.Invoke, // a *lambdaruntime.Runtime's
//		MaximumConcurrency:      3,
//		ReportBatchItemFailures: true,
//	}
//	err := mapping.Run(ctx)
//
// # As on AWS
//
// Messages are received with long polling, up to BatchSize for one invocation, and sent
// in an event of Lambda's form. If the function failed, crashed or timed out, nothing is
// deleted, and the batch returns after the visibility timeout. Otherwise everything is
// deleted. With ReportBatchItemFailures, the messages that the response lists are not:
//
//	response                                        deleted
//	null, nothing at all, {}                        all
//	{"batchItemFailures":null}, …[]                 all
//	{"batchItemFailures":[{"itemIdentifier":"a"}]}  all but a
//	an id that is empty, null, not in the batch     none
//	an item with a wrong key name                   none
//	invalid JSON, JSON of a wrong shape             none
//
// Other members of the response are ignored. With a misspelt batchItemFailures,
// everything is deleted. Names are case-sensitive. A message that cannot be deleted
// returns, although the function has handled it.
//
// # Differences
//
// The number of pollers is fixed: it neither grows with the queue nor shrinks when the
// function fails. A batch is never split, so one that exceeds the limit of an invocation
// fails as a whole. There are no filters. A message is received only when the function
// can be invoked at once; AWS may receive it earlier.
package eventsource
