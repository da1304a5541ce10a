package storetest

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// testExhaustive plays every schedule of h.Depth moves, starting with no record
// and with an abandoned record of a foreign library. Schedules that lead to the
// same world are merged: each world is planted, each of its moves is played on
// the store once, and the schedules are counted.
func testExhaustive(t *testing.T, h Harness) {
	if h.Depth == 0 {
		return
	}
	s := on(t, h)
	x := &search{subject: s, player: player{ctx: t.Context(), store: h.Store, every: true},
		counts: make(map[string]uint64)}
	begin := time.Now()
	var total uint64
	for _, item := range []driver.Record{{ID: s.id}, s.abandoned()} {
		n, err := x.explore(world{id: s.id, item: item, now: now}, h.Depth)
		if err != nil {
			t.Fatalf("%v%s", err, story(x.trail))
		}
		total += n
	}
	report(t, x.player.tally, h.Depth >= 5)
	t.Logf("depth %d, %d schedules over %d worlds with %d moves played, in %v",
		h.Depth, total, len(x.counts), x.played, time.Since(begin).Round(time.Millisecond))
}

type search struct {
	*subject
	player player
	counts map[string]uint64 // schedules from a world, by world and depth left
	trail  []move
	played int
}

// explore counts the schedules from w. After an error, x.trail lists the moves
// that led to it.
func (x *search) explore(w world, depth int) (uint64, error) {
	if depth == 0 {
		return 1, nil
	}
	key := string(w.key(depth))
	if n, ok := x.counts[key]; ok {
		return n, nil
	}
	var total uint64
	for _, m := range w.moves() {
		x.trail = append(x.trail, m)
		if m.kind != pass {
			w.item.ID = w.id
			x.Plant(x.T, w.item)
		}
		x.played++
		next, err := x.player.play(w, m)
		if err != nil {
			return 0, err
		}
		n, err := x.explore(next, depth-1)
		if err != nil {
			return 0, err
		}
		total += n
		x.trail = x.trail[:len(x.trail)-1]
	}
	x.counts[key] = total
	return total, nil
}

// key returns a different value for each world and depth.
func (w *world) key(depth int) []byte {
	b := strconv.AppendInt(make([]byte, 0, 1024), int64(depth), 10)
	b = appendTime(b, w.now)
	b = appendRecord(b, w.item)
	for _, c := range w.callers {
		b = append(b, byte('0'+c.phase))
		b = strconv.AppendInt(append(b, ' '), int64(c.claims), 10)
		b = strconv.AppendBool(b, c.knows)
		b = appendTime(b, c.until)
		b = appendRecord(b, c.met)
	}
	for _, r := range w.late {
		b = append(b, byte('0'+r.who), byte('a'+r.op))
		b = appendTime(b, r.cutoff)
		b = appendRecord(b, r.record)
		b = append(b, r.fence.Owner...)
		b = strconv.AppendInt(append(b, ' '), r.fence.Attempt, 10)
		b = appendTime(b, r.fence.Lease)
		b = append(b, r.change.Owner...)
		b = appendTime(b, r.change.Lease)
		b = appendTime(b, r.change.Expires)
		b = append(b, r.change.Data...)
		for name, data := range r.change.Steps {
			b = append(append(append(b, name...), '='), data...)
		}
	}
	return b
}

func appendRecord(b []byte, r driver.Record) []byte {
	b = append(append(b, '|'), r.Status...)
	b = append(append(b, '|'), r.Owner...)
	b = strconv.AppendInt(append(b, '|'), r.Attempt, 10)
	b = strconv.AppendInt(append(b, '|'), r.Refunds, 10)
	b = appendTime(appendTime(b, r.Lease), r.Expires)
	b = append(append(b, '|'), r.Fingerprint...)
	b = append(append(b, '|'), r.Data...)
	b = strconv.AppendBool(b, r.Steps == nil)
	if len(r.Steps) == 0 {
		return b
	}
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		b = append(append(append(b, name...), '='), r.Steps[name]...)
	}
	return b
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, '|', '-')
	}
	return strconv.AppendInt(append(b, '|'), t.UnixMilli(), 10)
}
