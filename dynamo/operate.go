package dynamo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/dynamo/internal/recorditem"
	"github.com/lambda-once/once/idempotent/driver"
)

var _ driver.Sweeper = (*Store)(nil)

// Inspect returns a record as it is stored, for an operator: see [driver.Operable]. It
// needs dynamodb:GetItem.
func (s *Store) Inspect(ctx context.Context, id string) (driver.Entry, error) {
	if err := s.format.CheckID(id); err != nil {
		return driver.Entry{}, s.refused("Inspect", &driver.InvalidWriteError{Reason: err.Error()})
	}
	out, err := s.getItem(ctx, id)
	if err != nil {
		return driver.Entry{}, err
	}
	return s.entry(out.Item, out.ResultMetadata), nil
}

// entry returns an item as an operator sees it.
func (s *Store) entry(item map[string]types.AttributeValue, m middleware.Metadata) driver.Entry {
	e := driver.Entry{At: serverTime(m)}
	if len(item) == 0 {
		return e
	}
	r, problems := s.format.Readable(item)
	e.Record, e.Size, e.Stored = r, attribute.ItemSize(item), item
	for _, p := range problems {
		e.Problems = append(e.Problems, p.Error())
	}
	return e
}

// serverTime returns the time of DynamoDB's answer, in whole seconds.
func serverTime(m middleware.Metadata) time.Time {
	if at, ok := awsmiddleware.GetServerTime(m); ok {
		return at
	}
	return time.Now()
}

// Scan returns a page of records, for an operator: see [driver.Operable]. A page is 1 MB of
// the table or Filter.Limit items, and is billed as such whatever is selected. The
// client must have the method Scan, as *dynamodb.Client has, and the role needs
// dynamodb:Scan.
//
// With Options.Resume, a scan with Filter.Lapsed reads the index [LapsedIndex], unless the
// filter asks for what that lacks. The index follows the table a moment later, and has the ids
// and leases of all records with a lease. The entries have no more: read the records
// that they name with [Store.Get], and decide on those.
func (s *Store) Scan(ctx context.Context, f driver.Filter, after string) (driver.Page, error) {
	items, page, err := s.scan(ctx, f, after)
	for _, item := range items {
		e := s.entry(item, middleware.Metadata{})
		if e.At = page.At; f.Brief {
			e.Size, e.Stored = 0, nil
		}
		if s.readsIndex(f) {
			e.Problems, e.Size, e.Stored = nil, 0, nil // the index has no more
		}
		page.Entries = append(page.Entries, e)
	}
	return page, err
}

// scan reads the items of one page. After an error, the page is to be read again.
func (s *Store) scan(ctx context.Context, f driver.Filter, after string) (items []map[string]types.AttributeValue, page driver.Page, err error) {
	page.Next = after
	scanner, ok := s.client.(dynamodb.ScanAPIClient)
	if !ok {
		return nil, page, &driver.ConfigError{Err: fmt.Errorf("dynamo: the client, a %T, has no method Scan", s.client)}
	}
	in := s.scanInput(f)
	if in.ExclusiveStartKey, err = s.decodePosition(after, in.IndexName != nil); err != nil {
		return nil, page, err
	}
	out, err := scanner.Scan(ctx, in, quiet)
	if err != nil {
		return nil, page, s.fail("Scan", err)
	}
	page.At, page.Next, page.Read = serverTime(out.ResultMetadata), s.encodePosition(out.LastEvaluatedKey), int(out.ScannedCount)
	if c := out.ConsumedCapacity; c != nil {
		page.Units = aws.ToFloat64(c.CapacityUnits)
	}
	for _, item := range out.Items {
		if isRecord := f.Expired.IsZero() && f.Lapsed.IsZero() || s.isRecordKey(s.keyOf(item)); !isRecord {
			continue
		}
		if name := s.format.Foreign(item); !f.Expired.IsZero() && name != "" {
			page.Next = after
			return nil, page, errForeign(name)
		}
		items = append(items, item)
	}
	return items, page, nil
}

// scanInput returns the request of a scan. An item without a status is not a record:
// the table may contain items of any program.
func (s *Store) scanInput(f driver.Filter) *dynamodb.ScanInput {
	in := &dynamodb.ScanInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, TableName: &s.table}
	if f.Limit > 0 {
		in.Limit = aws.Int32(int32(f.Limit))
	}
	record, filter, projection := "#id", "attribute_exists(#status)", ""
	var names map[string]string
	values := map[string]types.AttributeValue{}
	if s.format.Composite() {
		record, names = "#record", map[string]string{"#record": s.format.Attr.SortKey}
	}
	switch {
	case s.readsIndex(f):
		filter, in.IndexName, f.Brief = "attribute_exists(#id)", aws.String(LapsedIndex), false
	case f.Status != driver.Absent:
		filter, values[":status"] = "#status = :status", attribute.Text(string(f.Status))
	}
	if f.Prefix != "" {
		filter += " AND begins_with(" + record + ", :prefix)"
		values[":prefix"] = attribute.Text(f.Prefix)
	}
	if !f.Expired.IsZero() {
		f.Brief = false // the other attributes tell whether it is a record
		filter += " AND " + condExpired
		setExpired(values, f.Expired)
	}
	if !f.Lapsed.IsZero() {
		filter += " AND #lease < :lapsed"
		values[":lapsed"] = attribute.Millis(f.Lapsed)
		if in.IndexName == nil {
			filter += " AND #status = :inprogress"
			values[":inprogress"] = recorditem.Status(driver.InProgress)
		}
	}
	if f.Brief {
		projection = "#id, #status, #owner, #attempt, #refunds, #lease, #exp, #began, #ended, #validation"
		if names != nil {
			projection = "#record, " + projection
		}
		in.ProjectionExpression = &projection
	}
	if !strings.Contains(filter+projection, "#record") {
		names = nil
	}
	in.FilterExpression, in.ExpressionAttributeNames = &filter, s.format.Names(names, filter, projection)
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	return in
}

// keyOf returns the primary key of an item.
func (s *Store) keyOf(item map[string]types.AttributeValue) map[string]types.AttributeValue {
	key := make(map[string]types.AttributeValue, 2)
	for _, name := range s.keyNames() {
		key[name] = item[name]
	}
	return key
}

// keyNames returns the attributes of the primary key.
func (s *Store) keyNames() []string {
	if s.format.Composite() {
		return []string{s.format.Attr.ID, s.format.Attr.SortKey}
	}
	return []string{s.format.Attr.ID}
}

// encodePosition returns a key as text, for a command line or a message. That of the index
// also has a lease.
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
	if lease, ok := key[s.format.Attr.Lease].(*types.AttributeValueMemberN); ok {
		values = append(values, base64.RawURLEncoding.EncodeToString([]byte(lease.Value)))
	}
	return strings.Join(values, ".")
}

func (s *Store) decodePosition(position string, ofIndex bool) (map[string]types.AttributeValue, error) {
	if position == "" {
		return nil, nil
	}
	names, values := s.keyNames(), strings.Split(position, ".")
	if ofIndex {
		names = append(names, s.format.Attr.Lease)
	}
	key := make(map[string]types.AttributeValue, len(names))
	for n, value := range values {
		b, err := base64.RawURLEncoding.DecodeString(value)
		if err != nil || len(values) != len(names) {
			return nil, &driver.ConfigError{Err: errors.New("dynamo: the position was not returned by Scan or Sweep of a store with these options")}
		}
		key[names[n]] = attribute.Text(string(b))
		if names[n] == s.format.Attr.Lease {
			key[names[n]] = &types.AttributeValueMemberN{Value: string(b)}
		}
	}
	return key, nil
}
