// Package sqslocal runs a queue server that speaks Amazon SQS's protocol, for
// tests: goaws, built from source in the version that go.mod pins.
//
//	client, queue := sqslocal.NewQueue(t, &sqslocal.QueueOptions{MaxReceiveCount: 3})
//
// Package eventsource feeds what is in a queue to a Lambda function.
//
// # What is like SQS
//
// Messages are delivered at least once, become visible again after the
// visibility timeout, and go to the dead-letter queue after MaxReceiveCount
// receives. Batches, long polling and message attributes work.
//
// # What is not
//
// ApproximateReceiveCount is always 1 and SentTimestamp is the time of the
// receive, although receives are counted for the dead-letter queue. The
// visibility timeout is looked at once a second: a message comes back up to a
// second late. ApproximateNumberOfMessages counts the hidden ones as well. A
// receipt handle is void once its message is visible again. Batches of a FIFO
// queue hold one message at most, and no MessageGroupId. The SDK cannot read
// the answer of SendMessageBatch: nothing in it is Successful. Nothing ever
// expires.
//
// goaws cannot be relied on while one client creates a queue and another
// receives, which is why each [NewQueue] has a server of its own. It listens
// on all interfaces and cannot be told otherwise; it holds test data only. A
// server keeps everything in memory and ends with the process that started it,
// even if that one is killed.
//
// The package is a module of its own, as the server's dependencies are not for
// those who use Once. It needs the go command and this module's source.
package sqslocal
