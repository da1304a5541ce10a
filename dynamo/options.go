package dynamo

import (
	"cmp"

	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of [New]. The zero value of every field is its default.
type Options struct {
	// Data is the form of results in the items. It also decides how a stored
	// string is read, so all writers of a table must agree on it. Records shared
	// with Powertools for TypeScript need Native: with Text it reads each result
	// as a string, and its own strings do not replay here, or replay as a different
	// value. [Store.Shared] sets it.
	//
	// Default: Text.
	Data DataFormat

	// Group turns group commit on: it is the number of requests that may begin
	// within 2 ms. A write that finds fewer of them is sent at once, as without Group.
	// Writes that find so many under way wait, and share the next one: a
	// PartiQL BatchExecuteStatement of up to 25 writes, each conditional by
	// itself, each with its own answer. Reads share a BatchGetItem in the same way.
	// The calls of one batch of package handlers announce their number: a claim waits
	// for the rest for 2 ms at most, and a completion for running functions for
	// 500 ms, but only as long as it keeps no function from starting.
	//
	// 1 fits most functions. It pays where many calls run at the same time: fewer
	// requests take less of the client's CPU. A write waits for the request before its
	// own, but not longer than 2 ms: then that request no longer counts.
	// One without an answer holds each of its calls for 1 s, or for half of
	// the call's time if that is less; the call is then sent again alone, once. A
	// write that is refused in a shared request needs a read besides,
	// and both are billed.
	//
	// These writes never share a request: takeovers, refunds, completions of
	// records without an owner, transactions, writes above 64 KB, and all writes
	// to a table that is given by its ARN. A write that a shared request does not
	// settle is sent again alone.
	//
	// The client must be a [GroupClient]. The role also needs dynamodb:PartiQLInsert,
	// PartiQLUpdate, PartiQLDelete and BatchGetItem. If one of them is denied, the
	// store writes a line to [slog.Default] that names it, once, and sends all writes
	// alone from then on.
	//
	// Default: 0, no group commit.
	Group int

	// Layout is the form of the items: the names of their attributes and their keys. A
	// changed Layout loses records.
	//
	// Default: Powertools' names, and a table with only a partition key.
	Layout Layout

	// Outbox is the name or ARN of the table that [Tx.Publish] writes messages to;
	// see package dynamo/outbox. Stores with different tables may share an outbox
	// if their operations have different names: the ids of messages come from the
	// ids of records.
	//
	// Default: none. A transaction with messages fails.
	Outbox string

	// Resume is for tables with the index [LapsedIndex], by which handlers.Resume finds work
	// that callers left behind. [CreateTable] makes it, and [Store.Scan] with Filter.Lapsed reads
	// it, and not the whole table. Set it in the resuming function, whose role needs
	// dynamodb:Scan on the index. The index costs a write unit for each claim, each change
	// of a lease and each end.
	//
	// Default: false. Such a scan reads the table.
	Resume bool
}

// A Layout has the names of the attributes of an item, and the form of its keys. The
// zero value of every field stands for its default.
type Layout struct {
	Attempt    string // default "attempt"
	Began      string // default "began"
	Data       string // default "data"
	Ended      string // default "ended"
	Expiration string // default "expiration"; the table's TTL attribute
	ID         string // default "id"; the partition key
	Lease      string // default "in_progress_expiration"
	Owner      string // default "owner"
	// Partition is the partition key of all records in a table with composite
	// keys. It requires SortKey.
	//
	// Default: "idempotency#" and $AWS_LAMBDA_FUNCTION_NAME, as in Powertools.
	Partition string
	Refunds   string // default "refunds"
	Request   string // default "request"
	// Shards is the number of partition keys that the records are spread over.
	// With more than one, "#" and a number are appended to Partition. It requires
	// SortKey. One partition key takes 1,000 writes a second at most. Powertools has
	// no shards.
	//
	// Default: 1, which appends nothing.
	Shards int
	// SortKey is the sort key of a table with composite keys. It contains the id
	// of the record, and ID contains the Partition.
	//
	// Default: none. The table has only a partition key.
	SortKey    string
	Status     string // default "status"
	Steps      string // default "steps"
	Validation string // default "validation"
}

// A DataFormat is a form of results in the items.
type DataFormat uint8

// The forms of results.
const (
	// Text stores a result as it is, in a string: JSON text, as Powertools for
	// Python and .NET does. Native results are read as well. A result above 4 KB is
	// compressed (gzip), if that makes it smaller: a write and each later replay are
	// billed by the KB of the whole item. [Store.Shared] returns a store that never
	// compresses.
	Text DataFormat = iota
	// Native stores a JSON result as attribute values of DynamoDB, as Powertools
	// for TypeScript does: an object as a map, a string as a string. A result
	// that these cannot represent exactly (a number of 40 digits, deep nesting,
	// repeated names) is stored as binary text, which only Once reads. Powertools
	// for TypeScript returns its bytes.
	Native
)

// format returns the format of the items with these options, or a
// [*driver.ConfigError] with their mistakes besides those given.
func (o *Options) format(plain bool, mistakes driver.Mistakes) (*recorditem.Format, error) {
	o = cmp.Or(o, &Options{})
	mistakes.If(o.Data > Native, "dynamo: Options.Data is %d; it must be Text or Native", o.Data)
	mistakes.If(o.Group < 0, "dynamo: Options.Group is %d; it must not be negative", o.Group)
	f, err := recorditem.New(recorditem.Options{
		Layout: recorditem.Layout(o.Layout), Native: o.Data == Native, Plain: plain,
	})
	mistakes.If(err != nil, "%w", err)
	if o.Group == 0 {
		return f, mistakes.Err() // without a list of names in each cold start
	}
	for _, name := range recorditem.Layout(o.Layout).Names() {
		if name != "" && !isPlain(name) {
			mistakes.Add("dynamo: Options.Group cannot be used with the attribute name %.40q: PartiQL has no words for it", name)
		}
	}
	return f, mistakes.Err()
}
