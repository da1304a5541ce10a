package dynamo

import (
	"fmt"
	"os"
	"unicode/utf8"
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

const (
	defaultCompressAbove = 4 << 10
	maxNameBytes         = 255 // DynamoDB's limit for the names of keys
	maxPartitionKeyBytes = 2048
	maxSortKeyBytes      = 1024
)

func (a Attributes) withDefaults() Attributes {
	for _, d := range []struct {
		name  *string
		value string
	}{
		{&a.Attempt, "attempt"},
		{&a.Data, "data"},
		{&a.Expiration, "expiration"},
		{&a.ID, "id"},
		{&a.Lease, "in_progress_expiration"},
		{&a.Owner, "owner"},
		{&a.Refunds, "refunds"},
		{&a.Status, "status"},
		{&a.Steps, "steps"},
		{&a.Validation, "validation"},
	} {
		if *d.name == "" {
			*d.name = d.value
		}
	}
	return a
}

func (a Attributes) validate() error {
	names := []string{a.Attempt, a.Data, a.Expiration, a.ID, a.Lease, a.Owner, a.Refunds, a.Status, a.Steps, a.Validation}
	if a.SortKey != "" {
		names = append(names, a.SortKey)
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		switch {
		case seen[name]:
			return &OptionsError{Reason: fmt.Sprintf("Options.Attributes uses the name %q twice", name)}
		case len(name) > maxNameBytes || !utf8.ValidString(name):
			return &OptionsError{Reason: fmt.Sprintf("Options.Attributes: %.40q is not UTF-8 text of at most %d bytes", name, maxNameBytes)}
		}
		seen[name] = true
	}
	return nil
}

// resolve validates the options and fills the defaults in.
func (o *Options) resolve() (Options, error) {
	if o == nil {
		o = &Options{}
	}
	r := *o
	r.Attributes = r.Attributes.withDefaults()
	if err := r.Attributes.validate(); err != nil {
		return r, err
	}
	switch r.Data {
	case Text:
		if r.CompressAbove == 0 {
			r.CompressAbove = defaultCompressAbove
		}
	case Native:
		if r.CompressAbove > 0 {
			return r, &OptionsError{Reason: "Options.CompressAbove with Native: the other readers of native results cannot decompress; leave it 0"}
		}
		r.CompressAbove = -1
	default:
		return r, &OptionsError{Reason: fmt.Sprintf("Options.Data is %d; it must be Text or Native", r.Data)}
	}
	return r, r.resolvePartition()
}

func (o *Options) resolvePartition() error {
	if o.Attributes.SortKey == "" {
		if o.Partition != "" || o.Shards != 0 {
			return &OptionsError{Reason: "Options.Partition and Shards are for composite keys; set Options.Attributes.SortKey as well"}
		}
		return nil
	}
	if o.Partition == "" {
		o.Partition = "idempotency#" + os.Getenv("AWS_LAMBDA_FUNCTION_NAME")
	}
	if o.Shards < 0 {
		return &OptionsError{Reason: fmt.Sprintf("Options.Shards is %d; it must not be negative", o.Shards)}
	}
	// 20 bytes are the longest "#" and number.
	if !utf8.ValidString(o.Partition) || len(o.Partition) > maxPartitionKeyBytes-20 {
		return &OptionsError{Reason: fmt.Sprintf("Options.Partition must be UTF-8 text of at most %d bytes", maxPartitionKeyBytes-20)}
	}
	return nil
}

// OptionsError reports a mistake in the arguments of [New], [CreateTable] or
// package dynamo/outbox. Nothing was sent.
type OptionsError struct{ Reason string }

func (e *OptionsError) Error() string { return "dynamo: " + e.Reason }
