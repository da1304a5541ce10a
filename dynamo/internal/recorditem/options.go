package recorditem

import (
	"cmp"
	"os"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent/driver"
)

// Options are the options of package dynamo that the format depends on. They
// are documented there.
type Options struct {
	Attributes    Attributes
	CompressAbove int
	Native        bool
	Partition     string
	Shards        int
}

// Attributes converts from and to dynamo.Attributes, which documents it.
type Attributes struct {
	Attempt, Data, Expiration, ID, Lease, Owner, Refunds, SortKey, Status, Steps, Validation string
}

const (
	defaultCompressAbove = 4 << 10
	maxNameSize          = 255 // DynamoDB's limit for the names of keys
)

// resolve fills the defaults in, and collects the mistakes. It names the options as
// package dynamo does.
func (o *Options) resolve() error {
	var mistakes driver.Mistakes
	o.Attributes.resolve(&mistakes)
	mistakes.If(o.Native && o.CompressAbove > 0,
		"dynamo: Options.CompressAbove with Native: the other readers of native results cannot decompress; leave it 0")
	switch {
	case o.Native:
		o.CompressAbove = -1
	case o.CompressAbove == 0:
		o.CompressAbove = defaultCompressAbove
	}
	if o.Attributes.SortKey == "" {
		mistakes.If(o.Partition != "" || o.Shards != 0,
			"dynamo: Options.Partition and Shards are for composite keys; set Options.Attributes.SortKey as well")
		return mistakes.Err()
	}
	o.Partition = cmp.Or(o.Partition, "idempotency#"+os.Getenv("AWS_LAMBDA_FUNCTION_NAME"))
	mistakes.If(o.Shards < 0, "dynamo: Options.Shards is %d; it must not be negative", o.Shards)
	// 20 bytes are the longest "#" and number.
	mistakes.If(!utf8.ValidString(o.Partition) || len(o.Partition) > MaxPartitionKeySize-20,
		"dynamo: Options.Partition must be UTF-8 text of at most %d bytes", MaxPartitionKeySize-20)
	return mistakes.Err()
}

// field is the name of an attribute, its default, and its placeholder in
// expressions.
type field struct {
	name                   *string
	otherwise, placeholder string
}

func (a *Attributes) fields() []field {
	return []field{
		{&a.Attempt, "attempt", "#attempt"},
		{&a.Data, "data", "#data"},
		{&a.Expiration, "expiration", "#exp"},
		{&a.ID, "id", "#id"},
		{&a.Lease, "in_progress_expiration", "#lease"},
		{&a.Owner, "owner", "#owner"},
		{&a.Refunds, "refunds", "#refunds"},
		{&a.Status, "status", "#status"},
		{&a.Steps, "steps", "#steps"},
		{&a.Validation, "validation", "#validation"},
	}
}

// Names returns the names of all attributes that a format with these uses.
func (a Attributes) Names() []string {
	var names []string
	for _, f := range a.fields() {
		names = append(names, *f.name)
	}
	if a.SortKey != "" {
		names = append(names, a.SortKey)
	}
	return names
}

// resolve fills the defaults in. The sort key has none.
func (a *Attributes) resolve(mistakes *driver.Mistakes) {
	seen := map[string]bool{}
	check := func(name string) {
		if seen[name] {
			mistakes.Add("dynamo: Options.Attributes uses the name %.40q twice", name)
		}
		if len(name) > maxNameSize || !utf8.ValidString(name) {
			mistakes.Add("dynamo: Options.Attributes: %.40q is not UTF-8 text of at most %d bytes", name, maxNameSize)
		}
		seen[name] = true
	}
	for _, f := range a.fields() {
		*f.name = cmp.Or(*f.name, f.otherwise)
		check(*f.name)
	}
	if a.SortKey != "" {
		check(a.SortKey)
	}
}
