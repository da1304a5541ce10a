// Package recorditem is the format of the items that hold records: their keys,
// the names and types of their attributes, and the stored forms of a result.
package recorditem

import (
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
)

// DynamoDB's limits of keys, in bytes.
const (
	MaxPartitionKeySize = 2048
	maxSortKeySize      = 1024
)

// Format is the format of the items in one table.
type Format struct {
	Attr Layout // without empty names, except for SortKey

	placeholders map[string]string // of the expressions
	*codec
}

// New returns the format with these options, or a [*driver.ConfigError].
func New(o Options) (*Format, error) {
	if err := o.Layout.resolve(); err != nil {
		return nil, err
	}
	placeholders := map[string]string{}
	for _, f := range o.Layout.fields() {
		placeholders[f.placeholder] = *f.name
	}
	above := compressAbove
	if o.Plain || o.Native { // the other readers of native results cannot decompress
		above = -1
	}
	return &Format{o.Layout, placeholders, newCodec(o.Native, above)}, nil
}

// Composite reports whether the table has composite keys.
func (f *Format) Composite() bool { return f.Attr.SortKey != "" }

// Key returns the primary key of a record's item.
func (f *Format) Key(id string) map[string]types.AttributeValue {
	key := make(map[string]types.AttributeValue, 8) // an item has room for its fields
	maps.Insert(key, f.KeyAttributes(id))
	return key
}

// KeyAttributes are the attributes of the primary key, the partition key first. A sum
// of the whole id picks the shard, as ids of one operation differ only at their ends.
func (f *Format) KeyAttributes(id string) iter.Seq2[string, types.AttributeValue] {
	return func(yield func(string, types.AttributeValue) bool) {
		if !f.Composite() {
			yield(f.Attr.ID, attribute.Text(id))
			return
		}
		partition := f.Attr.Partition
		if f.Attr.Shards > 1 {
			h := fnv.New32a()
			h.Write([]byte(id))
			partition += "#" + strconv.FormatUint(uint64(h.Sum32()%uint32(f.Attr.Shards)), 10)
		}
		if yield(f.Attr.ID, attribute.Text(partition)) {
			yield(f.Attr.SortKey, attribute.Text(id))
		}
	}
}

// Foreign returns an attribute of the item that records do not have, or "". An item with an
// owner and an attempt is one of ours, to which a further program has added attributes. Those
// that global tables of the first version add begin with "aws:".
func (f *Format) Foreign(item map[string]types.AttributeValue) string {
	if item[f.Attr.Owner] != nil && item[f.Attr.Attempt] != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(item)) {
		isOurs := name == f.Attr.ID || name == f.Attr.SortKey && f.Composite() || strings.HasPrefix(name, "aws:")
		for _, known := range f.placeholders {
			isOurs = isOurs || name == known
		}
		if !isOurs {
			return name
		}
	}
	return ""
}

// CheckID returns an error for an id that DynamoDB refuses, or that is not
// UTF-8: the SDK would replace its bytes, and different ids would become one.
func (f *Format) CheckID(id string) error {
	limit := MaxPartitionKeySize
	if f.Composite() {
		limit = maxSortKeySize
	}
	switch {
	case id == "":
		return fmt.Errorf("the id of the record is empty")
	case len(id) > limit:
		return fmt.Errorf("the id of the record has %d bytes; the table's key takes %d", len(id), limit)
	case !utf8.ValidString(id):
		return fmt.Errorf("the id of the record is not valid UTF-8")
	}
	return nil
}

// Name returns the attribute name of a placeholder.
func (f *Format) Name(placeholder string) string { return f.placeholders[placeholder] }

// Names returns the attribute names that expressions use, and extra. DynamoDB
// refuses a request that declares more.
func (f *Format) Names(extra map[string]string, expressions ...string) map[string]string {
	names := make(map[string]string, 8)
	for _, e := range expressions {
		for {
			_, after, found := strings.Cut(e, "#")
			if !found {
				break
			}
			end := strings.IndexFunc(after, func(r rune) bool { return r < 'a' || r > 'z' })
			if end < 0 {
				end = len(after)
			}
			placeholder := "#" + after[:end]
			// A map of 8, which a finish has, grows even at a write of a key that it has.
			if name, ok := f.placeholders[placeholder]; ok && names[placeholder] == "" {
				names[placeholder] = name
			}
			e = after[end:]
		}
	}
	maps.Copy(names, extra)
	return names
}
