package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/lambda-once/once/idempotent"
)

const randomMoves = 12

// testRandom plays seeded schedules from start to end on the store itself.
func testRandom(t *testing.T, h Harness) {
	const workers = 8
	var mu sync.Mutex
	var tally [ops][2]int
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			p := player{ctx: t.Context(), store: h.Store}
			for i := worker; i < h.Schedules && !t.Failed(); i += workers {
				s := on(t, h)
				s.id += fmt.Sprint("/", i)
				randomSchedule(s, &p, uint64(i))
			}
			mu.Lock()
			defer mu.Unlock()
			for o := range ops {
				tally[o][0] += p.tally[o][0]
				tally[o][1] += p.tally[o][1]
			}
		})
	}
	wg.Wait()
	report(t, tally, h.Schedules >= 200)
	t.Logf("%d schedules of %d moves, seed %d", h.Schedules, randomMoves, h.Seed)
}

func randomSchedule(s subject, p *player, n uint64) {
	rnd := rand.New(rand.NewPCG(s.Seed, n))
	w := world{id: s.id, now: now}
	trail := make([]move, 0, randomMoves)
	fail := func(err error) {
		s.Errorf("schedule %d of seed %d: %v%s", n, s.Seed, err, steps(trail))
	}
	if n%4 == 3 {
		w.item = s.abandoned()
		s.Plant(s.T, w.item)
	}
	for len(trail) < randomMoves {
		trail = append(trail, pick(rnd, w.moves()))
		next, err := p.play(w, trail[len(trail)-1])
		if err != nil {
			fail(err)
			return
		}
		w = next
	}
	for len(w.late) > 0 {
		trail = append(trail, move{kind: arrive})
		next, err := p.play(w, move{kind: arrive})
		if err != nil {
			fail(err)
			return
		}
		w = next
	}
	if err := p.compare(&w); err != nil {
		fail(err)
	}
}

// pick prefers answered requests: too much noise, and no schedule gets far.
func pick(rnd *rand.Rand, moves []move) move {
	for range 3 {
		m := moves[rnd.IntN(len(moves))]
		if m.fate == answered && m.by != age {
			return m
		}
	}
	return moves[rnd.IntN(len(moves))]
}

// abandoned is a lapsed record of another library.
func (s subject) abandoned() idempotent.Record {
	r := s.foreign()
	r.Lease = now.Add(-lease)
	return r
}

func steps(trail []move) string {
	text := ""
	for i, m := range trail {
		text += fmt.Sprintf("\n\t%2d. %v", i+1, m)
	}
	return text
}

// report logs how often each operation held and failed. An operation that
// never did one of the two was not tested, which is a failure of the suite.
func report(t *testing.T, tally [ops][2]int, complete bool) {
	t.Helper()
	for o := range ops {
		t.Logf("%-9v held %d, failed %d", o, tally[o][0], tally[o][1])
		if complete && !t.Failed() && (tally[o][0] == 0 || tally[o][1] == 0) {
			t.Errorf("no schedule tried both sides of %v", o)
		}
	}
}
