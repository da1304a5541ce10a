// Package sqslocal runs a queue server that speaks Amazon SQS's protocol, for
// tests: goaws, built from source in the version that go.mod pins.
//
//	client, queue := sqslocal.NewQueue(t, &sqslocal.QueueOptions{MaxReceiveCount: 3})
//
// A [FIFO] is a FIFO queue in memory. A [Mapping] feeds the messages of a queue to a
// function, as Lambda's event source mapping does.
//
// # As in SQS
//
// Messages are delivered at least once, become visible again after the
// visibility timeout, and go to the dead-letter queue after MaxReceiveCount
// receives. Batches, long polling and message attributes work. The clients of this package
// count their receives of each message in ApproximateReceiveCount.
//
// # Differences
//
// SentTimestamp is the time of the receive. The visibility timeout is checked once a
// second, so a message returns up to a second late. ApproximateNumberOfMessages includes
// invisible messages. A receipt handle is invalid once its message is visible again. In
// the response of SendMessageBatch, nothing is Successful. Nothing ever expires. Batches
// of the server's FIFO queues contain at most one message, and no MessageGroupId.
//
// goaws is unreliable while one client creates a queue and another receives, so each
// [NewQueue] has a server of its own. It always listens on all interfaces, and contains
// only test data. A server stores everything in memory. It exits with the process that
// started it, even if that one is killed.
//
// The package is a separate module, so that users of Once do not depend on the server.
// It needs the go command and this module's source.
package sqslocal
