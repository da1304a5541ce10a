package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/crashtest"
)

func TestSchemaHasTheStatementsOfTheStore(t *testing.T) { deployed.HasSchema(t) }

func TestTransferSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	f := newTables(t)
	crashtest.Run(t, f.crashing(transactional), f.open, f.check)
}

func (f function) crashing(mode string) crashtest.Function {
	return crashtest.Function{
		Binary:  deployed.Binary,
		Env:     append(f.env, "TRANSFER_MODE="+mode), // and the names of the tables
		Servers: []crashtest.Server{{Variable: "AWS_ENDPOINT_URL_DYNAMODB"}},
	}
}

// The kit kills at each round trip to PostgreSQL as well.
func TestTransferInPostgreSQLSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	f := newDatabase(t)
	crashtest.Run(t, crashtest.Function{
		Binary:  deployed.Binary,
		Env:     []string{"IDEMPOTENCY_TABLE=idempotency", "TRANSFER_MODE=" + collected},
		Servers: []crashtest.Server{{Variable: "DATABASE_URL", URL: f.pool.Config().ConnString(), Name: "postgres"}},
	}, f.open, f.check)
}

// The kit finds the loss that mode plain exists to show.
func TestEveryCrashOfAPlainTransferIsFound(t *testing.T) {
	t.Parallel()
	f := newTables(t)
	report, err := crashtest.Play(t.Context(), f.crashing(plain), f.open, f.check)
	check.Must(t, err)
	t.Log(report)
	if all, broken := report.Points(); all != 28 || broken == all {
		t.Errorf("%d of %d points are broken", broken, all)
	}
	var found *crashtest.BrokenError
	if !errors.As(report.Err(), &found) {
		t.Fatalf("got %v", report.Err())
	}
	for _, want := range []string{
		"killed after 3: alice has 40 and bob 80, want 70 and 80", // the debit
		"killed before 4: alice has 40 and bob 80, want 70 and 80",
		"killed after 4: alice has 40 and bob 110, want 70 and 80", // the credit
		"killed before 5: alice has 40 and bob 110, want 70 and 80",
	} {
		if !slices.ContainsFunc(found.Results, func(r crashtest.Result) bool {
			return fmt.Sprintf("%v %d: %v", r.Crash, r.Number, r.Broken) == want
		}) {
			t.Errorf("%q is missing in %v", want, report)
		}
	}
}

// Kills alone find nothing in a function by hand.
func TestTransferByHandIsBrokenByAFreezeAndByAnotherPayload(t *testing.T) {
	t.Parallel()
	f := newTables(t)
	report, err := crashtest.Play(t.Context(), f.crashing(byHand), f.open, f.check)
	check.Must(t, err)
	t.Log(report)
	var broken []string
	for _, r := range report.Results {
		if r.Broken != nil {
			broken = append(broken, fmt.Sprintf("%v %d: %.17v", r.Crash, r.Number, r.Broken))
		}
	}
	want := []string{"frozen before 3: alice has 40 and ", "other payload 0: the changed event"} // 3 is the transaction
	check.Slice(t, broken, want, "broken")
}

// open opens two accounts for a run, and returns its transfer.
func (f function) open(ctx context.Context, run string) ([]byte, error) {
	err := f.deposit(ctx, map[string]int64{"alice-" + run: 100, "bob-" + run: 50})
	return []byte(event(run, "alice-"+run, "bob-"+run, 30)), err
}

// check requires that the money was transferred once.
func (f function) check(ctx context.Context, run string) error {
	got, err := f.read(ctx, "alice-"+run, "bob-"+run)
	if err == nil && !slices.Equal(got, []int64{70, 80}) {
		err = fmt.Errorf("alice has %d and bob %d, want 70 and 80", got[0], got[1])
	}
	return err
}
