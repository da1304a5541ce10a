package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/examples/internal/deployed"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

const (
	senders  = 6 // processes that send notices
	volley   = 8 // transfers for each of them that is killed
	patience = 5 * time.Minute
)

// A storm is many transfers and their notices, while processes of both functions are
// killed.
type storm struct {
	*testing.T
	pool                *pgxpool.Pool
	receiver            *receiver
	transfers, schedule *lambdaruntime.Runtime
	kills               int64 // of processes that send notices
	killed              atomic.Int64
	killedTransfers     atomic.Int64
	calling             sync.WaitGroup

	mu       sync.Mutex
	sent     []transfer
	answered map[string]string // "" is success, by transfer
}

// ONCE_KILLS is the number of kills; "make queue-kills" sets it to 300.
func TestKilledProcessesLoseNoNoticeAndHaveEachEffectOnce(t *testing.T) {
	t.Parallel()
	s := &storm{T: t, kills: 12, answered: map[string]string{}}
	if text := os.Getenv("ONCE_KILLS"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		check.Must(t, err, "ONCE_KILLS")
		s.kills = n
	}
	var url string
	url, s.pool = newDatabase(t)
	if _, err := s.pool.Exec(t.Context(), "INSERT INTO accounts VALUES ('rich', 1000000), ('well-off', 100000), ('poor', 10), ('empty', 0)"); err != nil {
		t.Fatal(err)
	}
	s.receiver = newReceiver(t)
	// It has had its effect, and its sender does not learn of it.
	s.receiver.first = func() { s.killSenders(senders) }
	s.transfers = deployed.Start(t, lambdaruntime.Function{Name: "transfer", Environments: 3, Timeout: 5 * time.Second, Log: io.Discard}, "DATABASE_URL="+url)
	s.schedule = deployed.Start(t, lambdaruntime.Function{Name: "sender", Environments: senders, Timeout: 8 * time.Second, Log: io.Discard},
		"DATABASE_URL="+url, "RECEIVER_URL="+s.receiver.URL, "JOB_TIMEOUT=1s", "RESCUE_AFTER=2s")

	scheduling, stop := context.WithCancel(t.Context())
	var scheduled sync.WaitGroup
	for i := range senders {
		scheduled.Go(func() { s.send(scheduling, s.schedule.Environment(i)) })
	}
	began := time.Now()
	s.strike()
	s.calling.Wait()
	stormed := time.Since(began)
	s.drain()
	stop()
	scheduled.Wait()
	s.check()
	var again, attempts int
	check.Nil(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE attempt > 1), max(attempt) FROM river_job").Scan(&again, &attempts))
	t.Logf("%d killed senders and %d killed transfers in %v, drained after %v: %d transfers, %d notices, sent %d times; %d jobs have up to %d attempts",
		s.killed.Load(), s.killedTransfers.Load(), stormed.Round(time.Second), time.Since(began).Round(time.Second),
		len(s.sent), len(s.receiver.bodies), s.receiver.requests, again, attempts)
}

// send invokes the scheduled function again and again.
func (s *storm) send(ctx context.Context, e *lambdaruntime.Environment) {
	for ctx.Err() == nil {
		r, err := e.Invoke(ctx, []byte(`{}`))
		var crashed *lambdaruntime.CrashedError
		var early *lambdaruntime.InitError
		var late *lambdaruntime.TimeoutError // of a busy machine: killed as well
		switch {
		case errors.As(err, &crashed) || errors.As(err, &early):
			s.killed.Add(1)
		case errors.As(err, &late) || ctx.Err() != nil:
		case err != nil:
			s.Errorf("the sender: %v", err)
		case r.FunctionError != nil:
			s.Errorf("the sender: %v", r.FunctionError)
		}
	}
}

// strike makes transfers, and kills processes at random moments, until enough of them
// were killed.
func (s *storm) strike() {
	deadline := time.Now().Add(patience)
	struck := int64(0)
	for n := 0; s.killed.Load() < s.kills; n++ {
		if time.Now().After(deadline) {
			s.Fatalf("%d of %d were killed in %v", s.killed.Load(), s.kills, patience)
		}
		for ; struck <= s.killed.Load(); struck++ {
			for range volley {
				s.calling.Go(s.call)
			}
		}
		<-time.After(rand.N(50 * time.Millisecond))
		check.Nil(s, s.transfers.Environment(rand.IntN(s.transfers.Environments())).Kill())
		<-time.After(rand.N(1500 * time.Millisecond))
		if n%4 == 3 {
			s.killSenders(senders)
		} else {
			s.killSenders(1 + rand.IntN(senders/2))
		}
		s.look()
	}
}

// killSenders kills n processes at once.
func (s *storm) killSenders(n int) {
	var group sync.WaitGroup
	for _, i := range rand.Perm(senders)[:n] {
		group.Go(func() {
			check.Nil(s, s.schedule.Environment(i).Kill())
		})
	}
	group.Wait()
}

// call makes a transfer. Of those that meet a crash, some callers never retry.
func (s *storm) call() {
	names := []string{"rich", "well-off", "poor", "empty"}
	order := rand.Perm(len(names))
	s.mu.Lock()
	e := transfer{fmt.Sprint("t-", len(s.sent)), names[order[0]], names[order[1]], 1 + rand.Int64N(60)}
	s.sent = append(s.sent, e)
	s.mu.Unlock()
	retries := rand.IntN(5) > 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		r, err := s.transfers.Invoke(s.Context(), event(e.TransferID, e.From, e.To, int(e.Amount)))
		switch failed := r.FunctionError; {
		case err != nil:
			s.killedTransfers.Add(1)
		case failed == nil || failed.Type == "InsufficientFundsError":
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.answered[e.TransferID] = ""; failed != nil {
				s.answered[e.TransferID] = failed.Type
			}
			return
		}
		if !retries {
			return
		}
		<-time.After(rand.N(100 * time.Millisecond)) // until the lease ends
	}
	s.Errorf("%s: no answer", e.TransferID)
}
