package faults

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// cutCase is a call. Each of its requests meets the faults in turn.
type cutCase struct {
	name     string
	requests int  // without faults, with retries of errors
	finished bool // the call meets a finished record
	lapsed   bool // the call meets a lapsed one
	fails    bool // the handler fails at first
}

func TestCutConnections(t *testing.T) {
	t.Parallel()
	cases := []cutCase{
		{name: "first call", requests: 2},
		{name: "duplicate", requests: 1, finished: true},
		{name: "failing call", requests: 4, fails: true},
		{name: "takeover", requests: 3, lapsed: true},
	}
	for _, c := range cases {
		cuts(t, c.name, c.requests, func(*idempotent.Config) {}, func(t *testing.T, l *line, n int, plan []fault) bool {
			return l.cut(t, c, n, plan)
		})
	}
}

// cuts plays each plan from each request of a call on, with the SDK's retries and without.
// The function reports whether the call has sent request n.
func cuts(t *testing.T, name string, requests int, configure func(*idempotent.Config), cut func(t *testing.T, l *line, n int, plan []fault) bool) {
	plans := [][]fault{{unsent}, {lost}, {torn}, {unsent, lost}, {lost, unsent}, {lost, lost}}
	if testing.Short() {
		plans = plans[:3]
	}
	for retries, retryer := range map[string]aws.Retryer{
		"SDK retries":    retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = 20 * time.Millisecond }),
		"no SDK retries": aws.NopRetryer{},
	} {
		t.Run(retries+"/"+name, func(t *testing.T) {
			t.Parallel()
			l := newLine(t, retryer, configure)
			for _, plan := range plans {
				n := 0
				for ; cut(t, l, n, plan); n++ {
				}
				// The plan was tried at each of the requests.
				check.Equal(t, n, requests, plan, "requests")
			}
		})
	}
}

// line contains a store behind a network, and the same store without it.
type line struct {
	*network
	client  *dynamodb.Client // to the same table as the stores
	table   string
	direct  *dynamo.Store
	through *idempotent.Executor
	beside  *idempotent.Executor
}

func newLine(t *testing.T, retryer aws.Retryer, configure func(*idempotent.Config)) *line {
	t.Helper()
	client, table := dynamodblocal.NewTable(t)
	w := newNetwork(t)
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	options := client.Options()
	options.BaseEndpoint, options.Retryer = &w.url, retryer
	options.HTTPClient = &http.Client{Transport: connections}
	// A lease that no call outlives, and within which no heartbeat is due.
	config := &idempotent.Config{Lease: 10 * time.Minute, Reserve: 100 * time.Millisecond, ClockSkew: 20 * time.Millisecond}
	configure(config)
	store := func(c dynamo.Client) (*dynamo.Store, *idempotent.Executor) {
		s, err := dynamo.New(c, table, nil)
		check.Must(t, err)
		x, err := idempotent.New("cut", s, config)
		check.Must(t, err)
		return s, x
	}
	l := &line{network: w, client: client, table: table}
	l.direct, l.beside = store(client)
	_, l.through = store(dynamodb.New(options))
	return l
}

var errBusy = errors.New("the bank is busy")

// cut retries until the call succeeds, with the plan from request n on. It reports
// whether there was a request n.
func (l *line) cut(t *testing.T, c cutCase, n int, plan []fault) bool {
	t.Helper()
	what := fmt.Sprintf("%v from request %d on", plan, n)
	key := idempotent.Key{Record: "cut#" + rand.Text()}
	effects, runs := 0, 0
	do := func(x *idempotent.Executor) (string, error) {
		return idempotent.Do(t.Context(), x, key, func(context.Context) (string, error) {
			if runs++; runs == 1 && c.fails {
				return "", errBusy
			}
			effects++
			return "payment " + rand.Text(), nil
		})
	}
	want := ""
	switch {
	case c.finished:
		want = l.mustDo(t, what, do, l.beside)
	case c.lapsed:
		l.plantLapsed(t, key.Record)
	}

	l.faults(append(slices.Repeat([]fault{pass}, n), plan...)...)
	got := l.untilDone(t, what, key.Record, func() (string, error) { return do(l.through) })
	reached := l.requests() > n
	check.Equal(t, effects, 1, what, "effects")
	if want != "" && got != want {
		t.Errorf("%s: %q, after the answer %q", what, got, want)
	}
	l.faults()
	for _, x := range []*idempotent.Executor{l.through, l.beside} {
		check.Equal(t, l.mustDo(t, what, do, x), got, what, "replayed")
	}
	return reached
}

func (l *line) mustDo(t *testing.T, what string, do func(*idempotent.Executor) (string, error), x *idempotent.Executor) string {
	t.Helper()
	got, err := do(x)
	check.Must(t, err, what)
	return got
}

// untilDone retries until the call succeeds, as a caller would.
func (l *line) untilDone(t *testing.T, what, id string, do func() (string, error)) string {
	t.Helper()
	ticker := time.NewTicker(30 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		got, err := do()
		var store *idempotent.StoreError
		switch {
		case err == nil:
			return got
		case time.Now().After(deadline):
			t.Fatalf("%s: it never succeeds: %v", what, err)
		case errors.As(err, &store) && store.Executed:
			// No plan is longer than the number of tries of a completion.
			t.Errorf("%s: %v", what, err)
		case errors.Is(err, idempotent.ErrInProgress):
			l.lapse(t, id) // of a claim that could not be released
		case errors.Is(err, idempotent.ErrStore), err == errBusy:
		default:
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func (l *line) lapse(t *testing.T, id string) {
	t.Helper()
	lapse(t, l.client, l.table, &types.AttributeValueMemberS{Value: id})
}

// plantLapsed stores the record of an owner that died long ago.
func (l *line) plantLapsed(t *testing.T, id string) {
	t.Helper()
	now := time.Now()
	_, ok, err := l.direct.Create(t.Context(), driver.Record{
		ID: id, Status: driver.InProgress, Owner: "dead", Attempt: 1,
		Lease: now.Add(-time.Minute), Expires: now.Add(time.Hour),
	}, time.Time{}, nil)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
}
