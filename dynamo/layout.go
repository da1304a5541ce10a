package dynamo

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// layout is where things are in a table: the names of attributes and the
// keys of records.
type layout struct {
	attr         Attributes
	partition    string
	shards       uint32
	placeholders map[string]string // of the expressions
}

func newLayout(o Options) layout {
	a := o.Attributes
	return layout{
		attr:      a,
		partition: o.Partition,
		shards:    uint32(o.Shards),
		placeholders: map[string]string{
			"#attempt": a.Attempt, "#data": a.Data, "#exp": a.Expiration, "#id": a.ID, "#lease": a.Lease, "#owner": a.Owner,
			"#refunds": a.Refunds, "#status": a.Status, "#steps": a.Steps, "#validation": a.Validation,
		},
	}
}

func (l *layout) composite() bool { return l.attr.SortKey != "" }

// key of a record. A sum of the whole id picks the shard, as ids of one
// operation differ only at their ends.
func (l *layout) key(id string) map[string]types.AttributeValue {
	if !l.composite() {
		return map[string]types.AttributeValue{l.attr.ID: text(id)}
	}
	partition := l.partition
	if l.shards > 1 {
		h := fnv.New32a()
		h.Write([]byte(id))
		partition += "#" + strconv.FormatUint(uint64(h.Sum32()%l.shards), 10)
	}
	return map[string]types.AttributeValue{l.attr.ID: text(partition), l.attr.SortKey: text(id)}
}

// checkID refuses ids that DynamoDB refuses, and those that are not UTF-8:
// the SDK would replace their bytes, and different ids would become one.
func (l *layout) checkID(id string) error {
	limit := maxPartitionKeyBytes
	if l.composite() {
		limit = maxSortKeyBytes
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

// names gives the attribute names that expressions use. DynamoDB refuses a
// request that declares one more.
func (l *layout) names(extra map[string]string, expressions ...string) map[string]string {
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
			if name, ok := l.placeholders[placeholder]; ok {
				names[placeholder] = name
			}
			e = after[end:]
		}
	}
	maps.Copy(names, extra)
	return names
}
