package linearizability

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// The same requests as in a history, one after the other.
func sequence(pairs ...any) []porcupine.Operation {
	var all []porcupine.Operation
	for n := 0; n < len(pairs); n += 2 {
		ret := int64(2*n + 1)
		if a, ok := pairs[n+1].(answer); ok && a.unknown {
			ret = 0
		}
		all = append(all, operation(n/2, pairs[n], pairs[n+1], int64(2*n), ret))
	}
	over := int64(2 * len(pairs))
	return append(all, operation(len(pairs), request{kind: end}, answer{}, over, over+1))
}

var (
	claimed = driver.Record{
		ID: "x", Status: driver.InProgress, Owner: "a", Attempt: 1,
		Lease: time.UnixMilli(10_000), Expires: time.Unix(20, 0),
	}
	claim    = request{kind: create, record: claimed, cutoff: time.UnixMilli(1)}
	complete = request{kind: finish, fence: driver.Fence{ID: "x", Owner: "a"}, change: driver.Change{Status: driver.Completed, Data: []byte("1")}}
)

func completed() driver.Record {
	r := claimed
	r.Status, r.Data, r.Lease = driver.Completed, []byte("1"), time.Time{}
	return r
}

func TestAnUnansweredRequestMayBeAppliedOrNot(t *testing.T) {
	lost, none := answer{unknown: true}, answer{ok: true}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		"applied":            {sequence(claim, lost, request{kind: read}, answer{ok: true, record: claimed}), porcupine.Ok},
		"not applied":        {sequence(claim, lost, request{kind: read}, none), porcupine.Ok},
		"applied later":      {sequence(claim, lost, request{kind: read}, none, request{kind: read}, answer{ok: true, record: claimed}), porcupine.Ok},
		"applied and undone": {sequence(claim, lost, request{kind: read}, answer{ok: true, record: claimed}, request{kind: read}, none), porcupine.Illegal},
		"never sent":         {sequence(request{kind: read}, answer{ok: true, record: claimed}), porcupine.Illegal},
		"completed by a copy": {sequence(claim, answer{ok: true, record: claimed}, complete, lost,
			complete, answer{record: completed()}), porcupine.Ok},
		"completed by nobody": {sequence(claim, answer{ok: true, record: claimed},
			complete, answer{record: completed()}), porcupine.Illegal},
		"refused without a reason": {sequence(claim, answer{ok: true, record: claimed},
			complete, answer{record: claimed}), porcupine.Illegal},
	} {
		t.Run(name, func(t *testing.T) {
			check.Equal(t, judgeHistory(name, storeModel(false), c.history, patience).CheckResult, c.want)
		})
	}
}

// A store that reads after a refusal may return a record in which the condition
// holds. It may not return one that was never stored.
func TestAReadAfterARefusalIsOfTheSameRecord(t *testing.T) {
	begin := []any{claim, answer{ok: true, record: claimed}, complete}
	for met, want := range map[*driver.Record]porcupine.CheckResult{
		&claimed:                porcupine.Ok,
		{Status: "COMPLETED"}:   porcupine.Illegal,
		new(driver.Record):      porcupine.Illegal,
		{Status: driver.Absent}: porcupine.Illegal,
	} {
		v := judgeHistory("", storeModel(true), sequence(append(begin, answer{record: *met})...), patience)
		check.Equal(t, v.CheckResult, want, "met", stateOf(*met))
	}
}

func TestAnUndecidedHistoryIsNotLegal(t *testing.T) {
	never := porcupine.Model{
		Init: func() any { return state{} },
		StepContext: func(ctx context.Context, s, _, _ any) (bool, any) {
			<-ctx.Done()
			return true, s
		},
	}
	v := judgeHistory("slow", never, sequence(claim, answer{ok: true, record: claimed}), time.Millisecond)
	if v.CheckResult != porcupine.Unknown || v.legal() {
		t.Errorf("%v, legal %v", v.CheckResult, v.legal())
	}
	r := row{tally: tally{}}
	if r.add(v); len(r.wrong) != 1 {
		t.Error("the row accepts it")
	}
}

func TestAFailingHistoryIsDrawn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	v := judgeHistory("", storeModel(false), sequence(request{kind: read}, answer{ok: true, record: claimed}), patience)
	path, err := v.draw()
	check.Must(t, err)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 || filepath.Dir(filepath.Dir(path)) != dir {
		t.Errorf("%s: %v, %v", path, info, err)
	}
}

// Statements in a batch are found one by one, whatever they look like.
func TestAWireFindsTheRequestsInABatch(t *testing.T) {
	w := NewWire(t, "http://127.0.0.1:1", true)
	one, two := newHistory(t, 1, 1), newHistory(t, 1, 2)
	w.watch(one)
	w.watch(two)
	first := one.begin(0, request{kind: create, record: driver.Record{ID: one.id, Status: driver.InProgress, Owner: "owner-00000001", Lease: time.UnixMilli(1_700_000_000_000)}})
	other := one.begin(0, request{kind: finish, fence: driver.Fence{ID: one.id, Owner: "owner-00000001"}, change: driver.Change{Status: driver.Completed, Data: []byte(`"result-00000002"`)}})
	keep := two.begin(0, request{kind: releaseKeep, fence: driver.Fence{ID: two.id, Owner: "owner-00000001"}, change: driver.Change{Release: driver.ReleaseKeep}})
	body := `{"Statements":[
		{"Statement":"INSERT INTO \"t\" VALUE {'id':?,'owner':?,'in_progress_expiration':?}","Parameters":[{"S":"` + one.id + `"},{"S":"owner-00000001"},{"N":"1700000000000"}]},
		{"Statement":"UPDATE \"t\" SET \"in_progress_expiration\" = ? REMOVE \"owner\" WHERE \"id\" = ? AND \"owner\" = ?","Parameters":[{"N":"0"},{"S":"` + two.id + `"},{"S":"owner-00000001"}]}]}`
	c := w.parse("BatchExecuteStatement", []byte(body))
	if len(c.ops) != 2 || c.ops[0] != first || c.ops[1] != keep || len(c.histories) != 2 || len(one.problems)+len(two.problems) > 0 {
		t.Errorf("found %d requests of %d histories; problems %q %q", len(c.ops), len(c.histories), one.problems, two.problems)
	}
	body = `{"UpdateExpression":"SET #status = :status","Key":{"id":{"S":"` + one.id + `"}},"ExpressionAttributeValues":{":owner":{"S":"owner-00000001"},":data":{"S":"\"result-00000002\""}}}`
	c = w.parse("UpdateItem", []byte(body))
	if len(c.ops) != 1 || c.ops[0] != other {
		t.Errorf("found %d requests", len(c.ops))
	}
	body = `{"Item":{"id":{"S":"` + one.id + `"},"owner":{"S":"owner-00000009"}}}`
	if w.parse("PutItem", []byte(body)); len(one.problems) != 1 {
		t.Errorf("a write that nobody made is no problem: %q", one.problems)
	}
}

// A check of histories in which nothing happens is worth nothing.
func TestHistoriesTryBothSidesOfEveryWrite(t *testing.T) {
	r := newRow(t, &Options{InMemory: true, Histories: 600})
	r.run(t, openMemory(t))
	for k := create; k < kinds; k++ {
		for _, end := range []string{applied, refused, unanswered, copied} {
			check.Differ(t, r.tally.of(k, end), 0, "no request", k, end)
		}
	}
	for _, outcome := range []string{"conflict", "executed", "failed", "lease lost", "released", "replayed", "takeover", "timed out", "unknown"} {
		check.Differ(t, r.tally["Do: "+outcome], 0, "no call of Do ends as", outcome)
	}
	for _, outcome := range []string{"conflict", "failed", "released", "replayed", "takeover"} {
		check.Differ(t, r.tally["Resume: "+outcome], 0, "no round of a resumer ends as", outcome)
	}
	if n := r.tally["runs of handlers"]; n < r.Histories/3 {
		t.Errorf("%d runs of handlers in %d histories", n, r.Histories)
	}
}
