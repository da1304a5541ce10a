package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

// maxDeletes is the number of deletions under way at once.
const maxDeletes = 8

// A record that expired before the cutoff. The statuses keep most foreign items whose
// attributes have the same names.
const condExpired = `#exp < :over_s AND (#status IN (:completed, :failed) OR #status = :inprogress AND (attribute_not_exists(#lease) OR #lease < :over_ms))`

// Sweep deletes records that expired before cutoff, at most limit of them, from one page of
// the table: see [driver.Sweeper]. It is for tables without TTL: where TTL is on, DynamoDB
// deletes them for nothing. The client must have the method Scan, as *dynamodb.Client has,
// and the role needs dynamodb:Scan besides dynamodb:DeleteItem. Each read is billed.
//
// Sweep deletes nothing of a page with an item that looks like an expired record and has an
// attribute that neither this version nor Powertools writes: it returns a
// [*driver.ConfigError].
func (s *Store) Sweep(ctx context.Context, cutoff time.Time, limit int, after string) (deleted int, _ driver.Progress, err error) {
	items, page, err := s.scan(ctx, driver.Filter{Expired: cutoff, Brief: true}, after)
	if err != nil || limit < 1 {
		return 0, driver.Progress{Next: after}, err
	}
	if len(items) > limit {
		items = items[:limit]
		page.Next = s.encodePosition(s.keyOf(items[limit-1]))
	}
	if deleted, err = s.deleteExpired(ctx, cutoff, items); err != nil {
		page.Next = after
	}
	return deleted, page.Progress, err
}

func setExpired(values map[string]types.AttributeValue, cutoff time.Time) {
	values[":completed"], values[":failed"] = attribute.Text(string(driver.Completed)), attribute.Text(string(driver.Failed))
	values[":inprogress"] = recorditem.Status(driver.InProgress)
	values[":over_ms"], values[":over_s"] = attribute.Millis(cutoff), attribute.Seconds(cutoff)
}

// errForeign is for an item of a sweep that a different program may have written.
func errForeign(attribute string) error {
	return &driver.ConfigError{Err: fmt.Errorf("dynamo: an item with the status and the expiration of an expired record has the attribute %q, which no record has: it may be another program's, or a later version's; nothing of its page is deleted; sweep with the version of the functions, and give records a table of their own", attribute)}
}

// deleteExpired deletes the records of one page that are still expired. It sends no
// deletion after ctx has ended, and waits for those that were sent.
func (s *Store) deleteExpired(ctx context.Context, cutoff time.Time, items []map[string]types.AttributeValue) (deleted int, err error) {
	condition := condExpired
	names, values := s.format.Names(nil, condition), map[string]types.AttributeValue{}
	setExpired(values, cutoff)
	sending, cancel := driver.Linger(ctx)
	defer cancel()
	var mu sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, maxDeletes)
	for _, item := range items {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			_, failed := s.client.DeleteItem(sending, &dynamodb.DeleteItemInput{
				ConditionExpression:       &condition,
				ExpressionAttributeNames:  names,
				ExpressionAttributeValues: values,
				Key:                       s.keyOf(item),
				TableName:                 &s.table,
			}, quiet)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failed == nil:
				deleted++
			case fault.ConditionFailed(failed) != nil: // claimed again, or deleted
			default:
				err = s.fail("DeleteItem", failed) // one of them is enough to stop
			}
		})
	}
	running.Wait()
	if err == nil && ctx.Err() != nil {
		err = s.fail("DeleteItem", ctx.Err())
	}
	return deleted, err
}

// isRecordKey reports whether a record of this store could have the key: a table
// with composite keys may contain items of several programs and stores.
func (s *Store) isRecordKey(key map[string]types.AttributeValue) bool {
	id, ok := key[cmp.Or(s.format.Attr.SortKey, s.format.Attr.ID)].(*types.AttributeValueMemberS)
	return ok && reflect.DeepEqual(key, s.format.Key(id.Value))
}
