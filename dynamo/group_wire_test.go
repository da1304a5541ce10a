package dynamo

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo/internal/group"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/internal/wire"
)

// countdown is the Sibling of n writes. The last one that arrives has none.
type countdown struct{ left atomic.Int64 }

func (c *countdown) Arrive() (int, <-chan struct{}) { return int(c.left.Add(-1)), nil }

// together runs calls whose next writes share a request.
func together(t *testing.T, n int, call func(ctx context.Context, i int)) *countdown {
	t.Helper()
	var siblings countdown
	siblings.left.Store(int64(n))
	ctx := adapter.With(t.Context(), adapter.Sibling(siblings.Arrive))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(ctx, i) })
	}
	wg.Wait()
	return &siblings
}

// statements of a request, and the responses to it.
type (
	statementsBody struct{ Statements []json.RawMessage }
	responsesBody  struct{ Responses []json.RawMessage }
)

func failure(code string) json.RawMessage {
	return encode(map[string]any{"Error": map[string]string{"Code": code, "Message": "of the test"}})
}

// some passes on only the statements for which passes is true, and returns an error
// for the rest.
func some(code string, passes func(i int) bool) wire.Carry {
	return func(r *wire.Request) (*wire.Response, error) {
		var all, part statementsBody
		if err := json.Unmarshal(r.Body, &all); err != nil {
			return nil, err
		}
		for i, st := range all.Statements {
			if passes(i) {
				part.Statements = append(part.Statements, st)
			}
		}
		var answers, got responsesBody
		if len(part.Statements) > 0 {
			r.Body = encode(part)
			res, err := r.Send()
			if err == nil {
				err = json.Unmarshal(res.Body, &got)
			}
			if err != nil {
				return nil, err
			}
		}
		for i := range all.Statements {
			if passes(i) {
				answers.Responses, got.Responses = append(answers.Responses, got.Responses[0]), got.Responses[1:]
				continue
			}
			answers.Responses = append(answers.Responses, failure(code))
		}
		return &wire.Response{Status: http.StatusOK, Body: encode(answers)}, nil
	}
}

// executed passes all statements on, and answers some with an error all the same.
func executed(code string, fails func(i int) bool) wire.Carry {
	return sendAnd(func(_ *wire.Request, answers *responsesBody) error {
		for i := range answers.Responses {
			if fails(i) {
				answers.Responses[i] = failure(code)
			}
		}
		return nil
	})
}

// duplicates answers each statement with an item of the owner, and the id of the
// statement that of returns.
func duplicates(owner string, of func(i, n int) int, edit func(id any, item map[string]any)) wire.Carry {
	return sendAnd(func(r *wire.Request, out *responsesBody) error {
		var in struct {
			Statements []struct{ Parameters []map[string]any }
		}
		err := json.Unmarshal(r.Body, &in)
		for i := range out.Responses {
			id := in.Statements[of(i, len(in.Statements))].Parameters[0]
			item := map[string]any{"id": id, "status": map[string]string{"S": "INPROGRESS"}, "owner": map[string]string{"S": owner}}
			edit(id["S"], item)
			out.Responses[i] = encode(map[string]any{"Error": map[string]any{"Code": "DuplicateItem", "Item": item}})
		}
		return err
	})
}

// shareAll has the store send each write that can share a request as a shared
// one, also if it is the only one, and read the record of each refused write.
func (s *Store) shareAll(slots int, change ...func(*group.Limits)) {
	s.limit(func(l *group.Limits) { l.Slots, l.Hold, l.Share = slots, time.Hour, true }, change...)
	s.group.readAll = true
}

// limit has the store share requests within changed limits.
func (s *Store) limit(first func(*group.Limits), change ...func(*group.Limits)) {
	limits := groupLimits(1)
	for _, c := range append([]func(*group.Limits){first}, change...) {
		c(&limits)
	}
	s.group = newGrouping(s, s.client.(GroupClient), limits)
}

// patient has a request wait for all its calls, however slow the machine is.
func patient(l *group.Limits) { l.Linger, l.Patience, l.Hold = time.Minute, time.Minute, time.Hour }
