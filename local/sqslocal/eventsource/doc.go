// Package eventsource feeds an SQS queue to a function as Lambda's event
// source mapping does.
//
//	mapping := eventsource.Mapping{
//		Client: client, QueueURL: queue.URL, QueueARN: queue.ARN,
//		Invoke:                  runtime.Invoke, // a *lambdaruntime.Runtime's
//		MaximumConcurrency:      3,
//		ReportBatchItemFailures: true,
//	}
//	err := mapping.Run(ctx)
//
// # What is like on AWS
//
// Messages are received with long polling, up to BatchSize for one invocation,
// and handed over in an event of Lambda's form. When the function has failed,
// crashed or run out of time, nothing is deleted, and all of the batch comes
// back after the visibility timeout. When it has answered, everything is
// deleted; with ReportBatchItemFailures, everything but what the answer lists:
//
//	answer                                          deleted
//	null, nothing at all, {}                        all
//	{"batchItemFailures":null}, …[]                 all
//	{"batchItemFailures":[{"itemIdentifier":"a"}]}  all but a
//	an id that is empty, null, not in the batch     none
//	an item with another key name                   none
//	invalid JSON, JSON of another shape             none
//
// Other members of the answer are ignored, a misspelt batchItemFailures
// included: all is deleted then. Names are compared with their case. A message
// that cannot be deleted comes back, although the function is done with it.
//
// # What is not
//
// The number of pollers is fixed: it neither grows with the queue nor shrinks
// when the function fails. A batch is never split, so one that is larger than
// an invocation may be fails as a whole. There are no filters. AWS receives
// what it may not be able to invoke at once; here a message is received only
// when there is somebody to invoke for it.
package eventsource
