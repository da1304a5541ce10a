package driver

import "time"

// An OutboxMessage is published if and only if the transaction commits that it was added
// to with dynamo.Tx.Publish: the store keeps it in an outbox, and a relay sends it.
type OutboxMessage struct {
	// ID is the same whenever the message is published: at most 128 letters,
	// digits and '-', which a FIFO queue takes as a deduplication id. The store
	// derives it. It must be empty in a message that is added to a transaction.
	ID string
	// Aggregate identifies the subject of the message, such as the id of an
	// order. Messages with the same Aggregate are published in order: it is the
	// message group id of a FIFO queue. At most 2048 bytes. Required.
	Aggregate string
	// Destination is a name that the relay knows, such as the name of a queue.
	// Required.
	Destination string
	Type        string // for the readers of the message; may be empty
	Body        []byte
	// Attributes are the producer's. A relay of package handlers adds
	// handlers.ChainAttribute: the ID, unless the producer has set one. Send them
	// with the message, so that it takes effect once where it arrives.
	Attributes map[string]string
}

// An OutboxKey names an item of an outbox, with the messages of one transaction for an
// aggregate: its key in the table, and the time at which it was written. Earlier versions
// of package dynamo wrote over the item of a key that ran again: only Created tells the
// two apart.
type OutboxKey struct {
	Aggregate, ID string
	Created       time.Time // in UTC, to the millisecond
}
