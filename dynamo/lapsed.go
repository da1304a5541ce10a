package dynamo

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/driver"
)

// LapsedIndex is the name of the global secondary index that [Options].Resume uses. Its
// only key is the partition key Layout.Lease, a number, and its projection is KEYS_ONLY.
// Records that have ended are not in it, as they have no lease.
//
// One partition key of an index takes 1,000 writes a second, and an index that takes no more
// slows all writes of its table. Leases differ, but released records share the lease 0:
// the index is not for tables that keep more than some hundred failed attempts a second.
const LapsedIndex = "lapsed"

// readsIndex reports whether a scan with f reads the index.
func (s *Store) readsIndex(f driver.Filter) bool {
	return s.options.Resume && !f.Lapsed.IsZero() && f.Expired.IsZero() && (f.Status == driver.Absent || f.Status == driver.InProgress)
}

// checkLapsedIndex returns an error for a table that exists without the index.
func (s *Store) checkLapsedIndex(table *types.TableDescription) error {
	for _, i := range table.GlobalSecondaryIndexes {
		if aws.ToString(i.IndexName) == LapsedIndex && len(i.KeySchema) == 1 && aws.ToString(i.KeySchema[0].AttributeName) == s.format.Attr.Lease {
			return nil
		}
	}
	return fmt.Errorf("the table exists without the index %q, whose key is the number %q", LapsedIndex, s.format.Attr.Lease)
}
