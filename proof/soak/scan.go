package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/proof/internal/tables"
	"github.com/lambda-once/once/proof/soak/worker"
)

// collect reads both tables.
func collect(ctx context.Context, server *tables.Server, records, effects string) (ev evidence, err error) {
	store, err := dynamo.New(server.Client, records, nil)
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
	items, err := server.Items(ctx, effects)
	if err != nil {
		return ev, err
	}
	var all []worker.Effect
	if err := attributevalue.UnmarshalListOfMaps(items, &all); err != nil {
		return ev, fmt.Errorf("soak: effects: %w", err)
	}
	ev.accounts = map[string]int{}
	for _, e := range all {
		switch {
		case strings.HasPrefix(e.ID, worker.AccountPrefix):
			ev.accounts[e.ID] = e.Balance
		case e.State != "":
			ev.bookings = append(ev.bookings, e)
		default:
			ev.effects = append(ev.effects, e)
		}
	}
	return ev, nil
}

// readRecord also looks for attributes that no reader of records expects.
func readRecord(e driver.Entry) (s stored) {
	item := e.Stored.(tables.Item)
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
		var result worker.Result
		s.err = json.Unmarshal(r.Data, &result)
		s.digest = result.Digest()
	}
	return s
}
