package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/soak/internal/job"
)

// collect reads both tables.
func collect(ctx context.Context, client *dynamodb.Client, records, effects string) (ev evidence, err error) {
	store, err := dynamo.New(client, records, nil)
	if err != nil {
		return ev, err
	}
	var page driver.Page
	for more := true; more; more = page.Next != "" {
		if page, err = store.Scan(ctx, driver.Filter{}, page.Next); err != nil {
			return ev, fmt.Errorf("soak: scan of %s: %w", records, err)
		}
		for _, e := range page.Entries {
			ev.records = append(ev.records, readRecord(e))
		}
	}
	ev.accounts = map[string]int{}
	err = scan(ctx, client, effects, func(item map[string]types.AttributeValue) error {
		var e job.Effect
		if err := attributevalue.UnmarshalMap(item, &e); err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(e.ID, job.AccountPrefix):
			var balance int
			if err := attributevalue.Unmarshal(item["balance"], &balance); err != nil {
				return err
			}
			ev.accounts[e.ID] = balance
		case e.State != "":
			ev.bookings = append(ev.bookings, e)
		default:
			ev.effects = append(ev.effects, e)
		}
		return nil
	})
	return ev, err
}

// readRecord looks at the item itself for what no reader of records expects.
func readRecord(e driver.Entry) (s stored) {
	item := e.Stored.(map[string]types.AttributeValue)
	_, s.steps = item["steps"]
	_, s.lease = item["in_progress_expiration"]
	r := e.Record
	s.id, s.status = r.ID, r.Status
	if len(e.Problems) > 0 {
		s.err = errors.New(strings.Join(e.Problems, "; "))
		return s
	}
	switch {
	case r.Status == driver.Failed:
		s.decline = strings.Contains(string(r.Data), `"DeclinedError"`)
	case r.Status == driver.Completed && r.Unavailable != "":
		s.err = fmt.Errorf("no result: %s", r.Unavailable)
	case r.Status == driver.Completed:
		var result job.Result
		if s.err = json.Unmarshal(r.Data, &result); s.err == nil {
			s.digest, s.err = result.Digest()
		}
	}
	return s
}

func scan(ctx context.Context, client *dynamodb.Client, table string, read func(map[string]types.AttributeValue) error) error {
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("soak: scan: %w", err)
		}
		for _, item := range page.Items {
			if err := read(item); err != nil {
				return fmt.Errorf("soak: scan of %s: %w", table, err)
			}
		}
	}
	return nil
}
