package dynamo

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/attribute"
)

// maxDeletes is the number of deletions under way at once.
const maxDeletes = 8

// A record that expired before the cutoff. The statuses keep items of other
// programs whose attributes have the same names.
const (
	condExpired = `#exp < :over_s AND (#status IN (:completed, :failed) OR #status = :inprogress AND (attribute_not_exists(#lease) OR #lease < :over_ms))`
	readKeys    = `#id`
)

// Sweep deletes records that expired before cutoff, at most limit of them. It is for
// tables without TTL: where TTL is on, DynamoDB deletes them for nothing. The
// client must have the method Scan, as *dynamodb.Client has, and the role needs
// dynamodb:Scan besides dynamodb:DeleteItem.
//
// Sweep reads the table from the position after; "" is its beginning. It returns the
// number of deleted records and the position where the next call continues, "" at
// the end of the table. It does so with an error, too: what was done up to there is
// done. Sweep reads the whole table, and each read is billed.
//
// Every deletion is conditional, so that a record that is claimed again meanwhile
// stays. The cutoff is the caller's time, less the largest clock skew of all
// callers. An expired record takes up nothing but space, so an hour less is a
// good choice.
func (s *Store) Sweep(ctx context.Context, cutoff time.Time, limit int, after string) (deleted int, next string, err error) {
	scanner, ok := s.client.(dynamodb.ScanAPIClient)
	if !ok {
		return 0, after, &OptionsError{Reason: fmt.Sprintf("the client, a %T, has no method Scan, which Sweep needs", s.client)}
	}
	from, err := s.decodePosition(after)
	if err != nil {
		return 0, after, err
	}
	in := s.sweepInput(cutoff)
	for deleted < limit {
		in.ExclusiveStartKey = from
		page, err := scanner.Scan(ctx, in, quiet)
		if err != nil {
			return deleted, s.encodePosition(from), s.fail("Scan", err)
		}
		found, to := page.Items, page.LastEvaluatedKey
		if rest := limit - deleted; len(found) > rest {
			found, to = found[:rest], s.keyOf(found[rest-1])
		}
		n, err := s.deleteExpired(ctx, in, found)
		deleted += n
		if err != nil {
			return deleted, s.encodePosition(from), err
		}
		if from = to; from == nil {
			break
		}
	}
	return deleted, s.encodePosition(from), nil
}

func (s *Store) sweepInput(cutoff time.Time) *dynamodb.ScanInput {
	filter, keys := condExpired, readKeys
	if s.format.Composite() {
		keys = readKeys + ", #sk"
	}
	names := s.format.Names(nil, filter, readKeys)
	if s.format.Composite() {
		names["#sk"] = s.format.Attr.SortKey
	}
	return &dynamodb.ScanInput{
		ExpressionAttributeNames: names,
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":completed": attribute.Text(string(driver.Completed)), ":failed": attribute.Text(string(driver.Failed)),
			":inprogress": attribute.Text(string(driver.InProgress)),
			":over_ms":    attribute.Millis(cutoff), ":over_s": attribute.Seconds(cutoff),
		},
		FilterExpression:     &filter,
		ProjectionExpression: &keys,
		TableName:            &s.table,
	}
}

// deleteExpired deletes the records of one page that are still expired.
func (s *Store) deleteExpired(ctx context.Context, in *dynamodb.ScanInput, items []map[string]types.AttributeValue) (deleted int, err error) {
	condition := condExpired
	names := s.format.Names(nil, condition)
	var mu sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, maxDeletes)
	for _, item := range items {
		key := s.keyOf(item)
		if !s.isRecordKey(key) {
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			_, failed := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				ConditionExpression:       &condition,
				ExpressionAttributeNames:  names,
				ExpressionAttributeValues: in.ExpressionAttributeValues,
				Key:                       key,
				TableName:                 &s.table,
			}, quiet)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failed == nil:
				deleted++
			case fault.ConditionFailed(failed): // claimed again, or deleted
			default:
				err = s.fail("DeleteItem", failed) // one of them is enough to stop
			}
		})
	}
	running.Wait()
	return deleted, err
}

// keyOf returns the primary key of an item.
func (s *Store) keyOf(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	key := make(map[string]types.AttributeValue, 2)
	for _, name := range s.keyNames() {
		key[name] = item[name]
	}
	return key
}

// isRecordKey reports whether a record of this store could have the key: a table
// with composite keys may contain items of other programs, and of other stores.
func (s *Store) isRecordKey(key map[string]types.AttributeValue) bool {
	name := s.format.Attr.ID
	if s.format.Composite() {
		name = s.format.Attr.SortKey
	}
	id, ok := key[name].(*types.AttributeValueMemberS)
	return ok && maps.EqualFunc(s.format.Key(id.Value), key, func(a, b types.AttributeValue) bool {
		want, _ := a.(*types.AttributeValueMemberS)
		got, ok := b.(*types.AttributeValueMemberS)
		return ok && got.Value == want.Value
	})
}

// encodePosition returns a key as text, for a command line or a message.
func (s *Store) encodePosition(key map[string]types.AttributeValue) string {
	if key == nil {
		return ""
	}
	var values []string
	for _, name := range s.keyNames() {
		if v, ok := key[name].(*types.AttributeValueMemberS); ok {
			values = append(values, base64.RawURLEncoding.EncodeToString([]byte(v.Value)))
		}
	}
	return strings.Join(values, ".")
}

func (s *Store) decodePosition(position string) (map[string]types.AttributeValue, error) {
	if position == "" {
		return nil, nil
	}
	names, values := s.keyNames(), strings.Split(position, ".")
	key := make(map[string]types.AttributeValue, len(names))
	for n, value := range values {
		b, err := base64.RawURLEncoding.DecodeString(value)
		if err != nil || len(values) != len(names) {
			return nil, &OptionsError{Reason: "the position was not returned by Sweep of a store with these options"}
		}
		key[names[n]] = attribute.Text(string(b))
	}
	return key, nil
}

// keyNames returns the attributes of the primary key.
func (s *Store) keyNames() []string {
	if s.format.Composite() {
		return []string{s.format.Attr.ID, s.format.Attr.SortKey}
	}
	return []string{s.format.Attr.ID}
}
