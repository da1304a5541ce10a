package worker

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"
)

// Settings are those of a worker.
type Settings struct {
	Test             string // the address of the test
	Records, Effects string // tables
	Endpoint         string // of DynamoDB behind the weather
	Direct           string // of DynamoDB
	// Of package idempotent.
	Wait         time.Duration
	CacheEntries int
	ReadFirst    bool
	// Group is that of package dynamo.
	Group int
	// Of batches.
	Concurrency, Ahead, Unrecorded int
}

// A Kind is a way to call a protected function. It is also the name of the
// operation.
type Kind string

// The kinds. The last two arrive in batches.
const (
	Do          Kind = "do"
	Wrap        Kind = "wrap"
	Steps       Kind = "steps"
	Saga        Kind = "saga"
	Transaction Kind = "transaction"
	Optimistic  Kind = "optimistic"
	Queue       Kind = "queue"
	Stream      Kind = "stream"
)

// Kinds are all kinds, Singles those that do not arrive in batches.
var (
	Kinds   = []Kind{Do, Wrap, Steps, Saga, Transaction, Optimistic, Queue, Stream}
	Singles = Kinds[:6]
)

// Batched reports whether the kind arrives in batches.
func (k Kind) Batched() bool { return k == Queue || k == Stream }

// A Request is what a client wants done once. It is the payload of its key, and so
// the same in every delivery.
type Request struct {
	Key  string
	Kind Kind
	// Size is the length of the result in bytes, of random text if Dense.
	Size  int
	Dense bool
	Steps int // of Steps and Saga
	// Decline makes the work fail for good, in every attempt.
	Decline bool
	// Account is the account, from 1, that a transaction of the work books to.
	// With 0 the work has no transaction.
	Account int
	// After is the key of the record before it with the same partition key, in a
	// Stream.
	After string
}

// A Delivery is one call, or one batch, on its way to a worker.
type Delivery struct {
	ID    string
	Kind  Kind
	Event []byte // a Request, or an event of Lambda
}

// A Report is what a worker answers to a Delivery.
type Report struct {
	// Result is that of a call that succeeded, without its Blob. Digest is that of
	// the whole.
	Result *Result
	Digest string
	// Error is that of a call that failed, or of the whole batch.
	Error *Failure
	// Failed are the ids that the answer to a batch reports.
	Failed []string
	// Failures are those of the records of a batch.
	Failures []Failure
	// Ends are those of all calls of Once in the delivery.
	Ends []End
	// Trouble is an error of the worker itself, which invalidates the test.
	Trouble string
}

// A Failure is an error as its caller sees it.
type Failure struct {
	ID         string // of a message
	Type, Text string
	Declined   bool // the work's own permanent error, first or replayed
}

// An End is the end of one call of Once.
type End struct {
	Record  string // its id
	Outcome string
	Attempt int64
	// Lost says that the call has an error about a lost lease. If the successor has
	// released the record since, the outcome is "released".
	Lost bool
	// Stumbled says that the work returned an error before its first effect, in
	// this delivery.
	Stumbled bool
	// Lapsed says that the call took over a lease that had lapsed.
	Lapsed bool
}

// A Result is the result of a request.
type Result struct {
	Key     string
	Attempt int64
	// Effects are the ids of the effects that made the result, by their slots.
	Effects map[string]string
	Blob    string
}

// Digest returns a hash of the whole result, with maps in the order of their keys.
func (r Result) Digest() string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%#v", r))) }

// Main is the slot of the effect of work without steps.
const Main = "main"

// Step returns the name of a step, which is the slot of its effect too.
func Step(n int) string { return "step-" + strconv.Itoa(n) }

// Undo returns the slot of the effect that undoes a step.
func Undo(n int) string { return "undo-" + strconv.Itoa(n) }

// An Effect is an item of the table of effects, with an id that no other
// execution has.
type Effect struct {
	ID       string `dynamodbav:"id"`
	Key      string
	Slot     string
	Delivery string
	Attempt  int64
	// Early says that a record of a stream ran before its predecessor was
	// finished.
	Early bool
	// State is that of a booking, which a saga makes with an idempotency key and
	// cancels. It is "" for every other effect.
	State string
	// Balance counts the transactions of an account, which is an item of the table too.
	Balance int
}

// The states of a booking.
const (
	Booked    = "booked"
	Cancelled = "cancelled"
)

// Account returns the id of the item that counts the transactions of an account.
func Account(n int) string { return AccountPrefix + strconv.Itoa(n) }

// AccountPrefix begins the ids of accounts, and no others.
const AccountPrefix = "account-"

// A Sample describes an idle worker.
type Sample struct {
	Goroutines int
	Heap       uint64 // bytes in use after a collection
}
