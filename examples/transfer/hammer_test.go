package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// storm is many transfers at once between a few accounts, each sent several
// times, while processes are killed.
type storm struct {
	*testing.T
	function
	wallets map[string]int64 // at first
	names   []string
	events  []transfer

	mu       sync.Mutex
	answered map[string][]answer // by transfer id
	finished int                 // calls
	crashed  int                 // of these
}

const (
	transfers = 40
	copies    = 3
	kills     = 8
)

func TestUnderFire(t *testing.T) {
	for _, env := range [][]string{
		{"TRANSFER_MODE=" + transactional}, {"TRANSFER_MODE=" + optimistic},
		{"TRANSFER_MODE=" + transactional, inPostgreSQL}, {"TRANSFER_MODE=" + collected, inPostgreSQL}, {"TRANSFER_MODE=" + optimistic, inPostgreSQL},
	} {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			t.Parallel()
			s := newStorm(t, env...)
			var group sync.WaitGroup
			for _, e := range s.events {
				for range copies {
					group.Go(func() { s.send(e) })
				}
			}
			stopped := make(chan struct{})
			group.Go(func() { s.strike(stopped) })
			done := make(chan struct{})
			go func() { defer close(done); group.Wait() }()
			s.watch(done, stopped)
			s.check()
		})
	}
}

// newStorm creates some accounts with so little that some transfers are refused, by chance. The
// first one always is.
func newStorm(t *testing.T, env ...string) *storm {
	t.Helper()
	s := &storm{T: t, answered: map[string][]answer{}, wallets: map[string]int64{"rich": 1000, "poor": 10, "empty": 0, "well-off": 200}}
	s.names = slices.Sorted(maps.Keys(s.wallets))
	for i := range transfers {
		order := rand.Perm(len(s.names))
		s.events = append(s.events, transfer{
			TransferID: fmt.Sprint("t-", i), From: s.names[order[0]], To: s.names[order[1]], Amount: 1 + rand.Int64N(60),
		})
	}
	s.events[0].Amount = 1 + total(slices.Collect(maps.Values(s.wallets)))
	s.function = start(t, lambdaruntime.Function{Environments: 4, Timeout: 5 * time.Second}, s.wallets,
		append(slices.Clone(env), "TRANSFER_DELAY=20ms")...)
	return s
}

// send retries until it receives an answer, as every caller must.
func (s *storm) send(e transfer) {
	text := event(e.TransferID, e.From, e.To, e.Amount)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); <-ticker.C {
		got, err := ask(s.Context(), s.Runtime, text)
		s.mu.Lock()
		s.finished++
		if _, ok := errors.AsType[*lambdaruntime.CrashedError](err); ok {
			s.crashed++
		}
		if err == nil && final(got) {
			s.answered[e.TransferID] = append(s.answered[e.TransferID], got)
		}
		s.mu.Unlock()
		if err == nil && final(got) {
			return
		}
	}
	s.Errorf("%s: no answer", e.TransferID)
}

// final reports whether a caller does not retry after this answer.
func final(a answer) bool {
	return a.receipt != "" || a.failure == "InsufficientFundsError"
}

// strike kills processes in turn, each during its work.
func (s *storm) strike(stopped chan<- struct{}) {
	defer close(stopped)
	ticker := time.NewTicker(150 * time.Millisecond)
	defer ticker.Stop()
	for i := range kills {
		<-ticker.C
		check.Nil(s, s.Environment(i%s.Environments()).Kill())
	}
}

// watch checks that the sum of all balances never changes.
func (s *storm) watch(done, stopped <-chan struct{}) {
	want := total(slices.Collect(maps.Values(s.wallets)))
	for looks := 1; ; looks++ {
		if got := s.function.balances(s.T, s.names...); total(got) != want {
			s.Errorf("the balances %v have the sum %d, want %d", got, total(got), want)
		}
		select {
		case <-done:
			<-stopped
			s.Logf("%d calls, %d killed, looked %d times at the sum", s.finished, s.crashed, looks)
			return
		default:
		}
	}
}

// check computes the balances from the answers to the callers, and compares them.
func (s *storm) check() {
	want := maps.Clone(s.wallets)
	done := 0
	for _, e := range s.events {
		got := s.answered[e.TransferID]
		if len(got) != copies || len(slices.Compact(slices.Clone(got))) != 1 {
			s.Errorf("%s was answered with %v", e.TransferID, got)
			continue
		}
		if got[0].receipt != "" {
			want[e.From] -= e.Amount
			want[e.To] += e.Amount
			done++
		}
	}
	for i, got := range s.function.balances(s.T, s.names...) {
		if id := s.names[i]; got != want[id] || got < 0 {
			s.Errorf("%s has %d, want %d", id, got, want[id])
		}
	}
	if done == 0 || done == transfers {
		s.Errorf("%d of %d transfers were made: want some of both", done, transfers)
	}
	check.Differ(s, s.crashed, 0, "no call was killed")
}

func total(balances []int64) (sum int64) {
	for _, n := range balances {
		sum += n
	}
	return sum
}
