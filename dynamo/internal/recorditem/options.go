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
	Layout Layout
	Native bool
	Plain  bool // never compressed
}

// Layout converts from and to dynamo.Layout, which documents it.
type Layout struct {
	Attempt, Began, Data, Ended, Expiration, ID, Lease, Owner, Partition, Refunds, Request string
	Shards                                                                                 int
	SortKey, Status, Steps, Validation                                                     string
}

const (
	compressAbove = 4 << 10 // bytes of a result that is compressed
	maxNameSize   = 255     // DynamoDB's limit for the names of keys
)

// field is the name of an attribute, its default, and its placeholder in
// expressions.
type field struct {
	name                   *string
	otherwise, placeholder string
}

func (l *Layout) fields() []field {
	return []field{
		{&l.Attempt, "attempt", "#attempt"},
		{&l.Began, "began", "#began"},
		{&l.Data, "data", "#data"},
		{&l.Ended, "ended", "#ended"},
		{&l.Expiration, "expiration", "#exp"},
		{&l.ID, "id", "#id"},
		{&l.Lease, "in_progress_expiration", "#lease"},
		{&l.Owner, "owner", "#owner"},
		{&l.Refunds, "refunds", "#refunds"},
		{&l.Request, "request", "#request"},
		{&l.Status, "status", "#status"},
		{&l.Steps, "steps", "#steps"},
		{&l.Validation, "validation", "#validation"},
	}
}

// Names returns the names of all attributes that a format with these uses.
func (l Layout) Names() []string {
	var names []string
	for _, f := range l.fields() {
		names = append(names, *f.name)
	}
	if l.SortKey != "" {
		names = append(names, l.SortKey)
	}
	return names
}

// resolve fills the defaults in, and collects the mistakes. It names the options as
// package dynamo does. The sort key has no default.
func (l *Layout) resolve() error {
	var mistakes driver.Mistakes
	seen := map[string]bool{}
	check := func(name string) {
		if seen[name] {
			mistakes.Add("dynamo: Options.Layout uses the name %.40q twice", name)
		}
		if len(name) > maxNameSize || !utf8.ValidString(name) {
			mistakes.Add("dynamo: Options.Layout: %.40q is not UTF-8 text of at most %d bytes", name, maxNameSize)
		}
		seen[name] = true
	}
	for _, f := range l.fields() {
		*f.name = cmp.Or(*f.name, f.otherwise)
		check(*f.name)
	}
	if l.SortKey == "" {
		mistakes.If(l.Partition != "" || l.Shards != 0,
			"dynamo: Options.Layout: Partition and Shards are for composite keys; set SortKey as well")
		return mistakes.Err()
	}
	check(l.SortKey)
	l.Partition = cmp.Or(l.Partition, "idempotency#"+os.Getenv("AWS_LAMBDA_FUNCTION_NAME"))
	mistakes.If(l.Shards < 0, "dynamo: Options.Layout: Shards is %d; it must not be negative", l.Shards)
	// 20 bytes are the longest "#" and number.
	mistakes.If(!utf8.ValidString(l.Partition) || len(l.Partition) > MaxPartitionKeySize-20,
		"dynamo: Options.Layout: Partition must be UTF-8 text of at most %d bytes", MaxPartitionKeySize-20)
	return mistakes.Err()
}
