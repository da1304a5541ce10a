package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

func TestRoundTrips(t *testing.T) {
	s, client := newStore(t)
	w := &counter{}
	s.client = behind(t, client, w)
	x, err := idempotent.New("op", s, nil)
	check.Must(t, err)
	// run returns the number of requests and of runs of one call.
	run := func(id string, end error) (requests, runs int, err error) {
		before := w.sent.Load()
		_, err = idempotent.Do(t.Context(), x, idempotent.Key{Record: id, Payload: "p"}, func(context.Context) (string, error) {
			runs++
			return "result", end
		})
		return int(w.sent.Load() - before), runs, err
	}
	running, lapsed := claim("running"), claim("lapsed")
	running.Fingerprint, lapsed.Fingerprint = "", ""
	created(t, s, running)
	lapsed.Lease = time.Now().Add(-time.Minute)
	created(t, s, lapsed)
	errBusy, errDeclined := errors.New("busy"), errors.New("declined")

	// A server gets each script once, when it is first used.
	for _, sc := range []*script{s.scripts.create, s.scripts.takeOver, s.scripts.extend, s.scripts.step, s.scripts.finish, s.scripts.delete, s.scripts.keep} {
		check.Must(t, client.ScriptLoad(t.Context(), sc.source).Err())
	}
	for _, c := range []struct {
		name     string
		id       string
		end      error
		requests int
		runs     int
		err      error
	}{
		{"first call", "a", nil, 2, 1, nil},
		{"duplicate of a finished one", "a", nil, 1, 0, nil},
		{"duplicate of a running one", "running", nil, 1, 0, idempotent.ErrInProgress},
		{"released error", "c", errBusy, 2, 1, errBusy},
		{"retry after a released error", "c", nil, 2, 1, nil},
		{"permanent error", "d", idempotent.Permanent(errDeclined), 2, 1, errDeclined},
		{"replay of a permanent error", "d", nil, 1, 0, idempotent.ErrReplayed},
		{"takeover", "lapsed", nil, 3, 1, nil},
	} {
		requests, runs, err := run(c.id, c.end)
		if requests != c.requests || runs != c.runs || !errors.Is(err, c.err) {
			t.Errorf("%s: %d requests, %d runs, %v; want %d, %d, %v", c.name, requests, runs, err, c.requests, c.runs, c.err)
		}
	}
}
