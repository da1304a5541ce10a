package dynamo

import (
	"fmt"

	"github.com/lambda-once/once/internal/recorditem"
)

// Options of [New]. The zero value of every field is its default.
type Options struct {
	// Attributes renames the attributes of the items, and switches composite
	// keys on by its SortKey. A rename loses the records under the old name.
	Attributes Attributes

	// CompressAbove is the size in bytes above which a result is compressed
	// (zstd), if that makes it smaller. Negative: never, which records shared
	// with Powertools need: it does not decompress them, and Powertools for
	// TypeScript returns their bytes without an error.
	//
	// Default: 4096, and never with Native. A write and each of the replays
	// that follow it are billed by the KB of the whole item; below 4 KB there
	// is little to save, and small results stay readable in the console.
	CompressAbove int

	// Data is the form of results in the items. It decides how a stored
	// string is read, too, so that all writers of a table must agree on it.
	// Records shared with Powertools for TypeScript need Native: with Text each
	// result reaches it as a string, and a string of its own does not replay
	// here, or replays as another value.
	//
	// Default: Text.
	Data DataFormat

	// Outbox is the table, by its name or ARN, that [Tx.Publish] writes
	// messages to; see package dynamo/outbox. Stores with tables of their own may share it
	// as long as no operation has one name in two of them: ids of messages
	// come from ids of records.
	//
	// Default: none. A transaction with messages fails.
	Outbox string

	// Partition is the partition key of all records in a table with
	// composite keys; only with Attributes.SortKey. A changed Partition
	// loses records.
	//
	// Default: "idempotency#" and $AWS_LAMBDA_FUNCTION_NAME, as Powertools.
	Partition string

	// Shards above 1 spread the records over that many partition keys, by
	// appending "#" and a number to Partition; only with Attributes.SortKey.
	// One partition key takes 1,000 writes a second at most. A changed
	// number of shards loses records; Powertools knows of none.
	//
	// Default: 1, which appends nothing.
	Shards int
}

// Attributes are the names of the attributes of an item. An empty name is the
// default one.
type Attributes struct {
	Attempt    string // default "attempt"
	Data       string // default "data"
	Expiration string // default "expiration"; the table's TTL attribute
	ID         string // default "id"; the partition key
	Lease      string // default "in_progress_expiration"
	Owner      string // default "owner"
	Refunds    string // default "refunds"
	// SortKey is the sort key of a table with composite keys. It holds the
	// id of the record, and ID holds Options.Partition.
	//
	// Default: none. The table has a partition key only.
	SortKey    string
	Status     string // default "status"
	Steps      string // default "steps"
	Validation string // default "validation"
}

// DataFormat is a form of results in the items.
type DataFormat uint8

// The forms of results.
const (
	// Text keeps a result as it is, in a string: JSON text, as Powertools for
	// Python and .NET. Native results of other writers are read as well.
	Text DataFormat = iota
	// Native keeps a JSON result as attribute values of DynamoDB, as
	// Powertools for TypeScript: an object as a map, a string as a string.
	// What these cannot hold exactly (a number of 40 digits, deep nesting,
	// repeated names) is stored as binary text, which only Once reads:
	// Powertools for TypeScript returns the bytes.
	Native
)

// format returns the format of the items with these options.
func (o *Options) format() (*recorditem.Format, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Data > Native {
		return nil, &OptionsError{Reason: fmt.Sprintf("Options.Data is %d; it must be Text or Native", o.Data)}
	}
	f, err := recorditem.New(recorditem.Options{
		Attributes: recorditem.Attributes(o.Attributes), CompressAbove: o.CompressAbove, Native: o.Data == Native,
		Partition: o.Partition, Shards: o.Shards,
	})
	if err != nil {
		return nil, &OptionsError{Reason: err.Error()}
	}
	return f, nil
}

// OptionsError reports a mistake in the arguments of [New], [CreateTable] or
// package dynamo/outbox. Nothing was sent.
type OptionsError struct{ Reason string }

func (e *OptionsError) Error() string { return "dynamo: " + e.Reason }
