package dynamo

import "github.com/lambda-once/once/idempotent/driver"

// Shared returns a store in the same table whose results Powertools for AWS
// Lambda reads. Results are never compressed, and Data is Native with native,
// which Powertools for TypeScript needs, and Text without. All further options are
// those of s.
//
// Only Once reads a result that Native cannot hold or that does not fit into the
// item: see [Native].
//
// Shared returns a [*driver.ConfigError] for options of s that Powertools does not
// have: more than one of the Shards, Data Native without
// native, and a SortKey without a Partition. The default Partition is made of
// the name of this function, and Powertools' is made of its function's.
func (s *Store) Shared(native bool) (driver.Store, error) {
	o := s.options
	var mistakes driver.Mistakes
	refuse := func(wrong bool, format string, args ...any) {
		mistakes.If(wrong, "dynamo: a table shared with Powertools: Options."+format, args...)
	}
	refuse(o.Data == Native && !native, "Data is Native, but only Powertools for TypeScript reads native results; leave it Text")
	refuse(o.Layout.Shards > 1, "Layout.Shards is %d, but Powertools has one partition key; leave it 0", o.Layout.Shards)
	refuse(o.Layout.SortKey != "" && o.Layout.Partition == "",
		"Layout.Partition is empty; set it to the partition key of the other function, by default idempotency# and its name")
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	o.Data = Text
	if native {
		o.Data = Native
	}
	shared, err := open(s.client, s.table, &o, true)
	if err != nil {
		return nil, err
	}
	return shared, nil
}
