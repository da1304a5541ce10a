package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
)

const (
	randomMoves = 12
	randomSeed  = 1
)

// testRandom plays seeded random schedules on the store.
func testRandom(t *testing.T, h Harness) {
	const workers = 8
	worlds := make([]world, h.Schedules)
	for i := range worlds {
		s := on(t, h).another(fmt.Sprint("/", i))
		worlds[i] = world{id: s.id, now: now}
		if i%4 == 3 {
			worlds[i].item = s.abandoned()
			h.Plant(t, worlds[i].item)
		}
	}
	var mu sync.Mutex
	var tally [ops][2]int
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			p := player{ctx: t.Context(), store: h.Store}
			for i := worker; i < h.Schedules && !t.Failed(); i += workers {
				trail, err := randomSchedule(&p, worlds[i], rand.New(rand.NewPCG(randomSeed, uint64(i))))
				if err != nil {
					t.Errorf("schedule %d: %v%s", i, err, story(trail))
				}
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
	report(t, tally, h.Schedules >= 1000)
	t.Logf("%d schedules of %d moves", h.Schedules, randomMoves)
}

// randomSchedule plays random moves and then delivers all late requests.
func randomSchedule(p *player, w world, rnd *rand.Rand) ([]move, error) {
	var trail []move
	for len(trail) < randomMoves || len(w.late) > 0 {
		m := move{kind: arrive}
		if len(trail) < randomMoves {
			m = pick(rnd, w.moves())
		}
		trail = append(trail, m)
		next, err := p.play(w, m)
		if err != nil {
			return trail, err
		}
		w = next
	}
	return trail, p.compare(&w)
}

// pick returns a random move. It prefers answered requests, because a schedule
// with too many lost ones makes no progress.
func pick(rnd *rand.Rand, moves []move) move {
	for range 3 {
		m := moves[rnd.IntN(len(moves))]
		if m.fate == answered && m.by != age {
			return m
		}
	}
	return moves[rnd.IntN(len(moves))]
}

// abandoned returns a lapsed record of a foreign library.
func (s *subject) abandoned() driver.Record {
	r := foreign()
	r.ID, r.Lease = s.id, now.Add(-lease)
	return r
}

func story(trail []move) string {
	text := ""
	for i, m := range trail {
		text += fmt.Sprintf("\n\t%2d. %v", i+1, m)
	}
	return text
}

// report logs how often the condition of each operation held and failed. If
// complete, it fails the test for an operation that never did both.
func report(t *testing.T, tally [ops][2]int, complete bool) {
	t.Helper()
	for o := range ops {
		t.Logf("%-9v held %d, failed %d", o, tally[o][0], tally[o][1])
		if complete && !t.Failed() && (tally[o][0] == 0 || tally[o][1] == 0) {
			t.Errorf("no schedule tried both sides of %v", o)
		}
	}
}
