package storetest

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// A world consists of one record, two callers that follow the protocol, delayed
// requests, and the time. Worlds are values: a search backtracks by dropping
// one.
type world struct {
	id      string
	item    driver.Record // by the model
	now     time.Time
	callers [2]caller
	late    []write
}

// caller is the knowledge of one caller.
type caller struct {
	phase  phase
	claims int           // tokens minted
	met    driver.Record // last record returned to it
	knows  bool          // met was returned by the store
	until  time.Time     // lease that the store has confirmed
}

// phase is the progress of a caller.
type phase int

const (
	idle     phase = iota
	claiming       // has sent a claim, which is not confirmed
	owning         // knows that it owns the record
	leaving        // has sent a finish or a release, or has lost the record
)

const (
	maxLate = 2
	skew    = time.Second
	// After tick every lease has lapsed, and after age every record has expired.
	tick = 3 * lease
	age  = 3 * retention
)

// fate is the way of a request and of its answer.
type fate int

const (
	answered fate = iota
	lost          // applied, but the answer is lost
	delayed       // applied later, but the answer is lost
	repeated      // applied twice at once; the caller receives the second answer
	echoed        // answered, and applied once more later
	fates
)

func (f fate) String() string {
	return [...]string{"", ", answer lost", ", delayed", ", applied twice", ", and a copy is late"}[f]
}

// move is one transition of a world: a request, the arrival of a delayed one,
// or the passing of time.
type move struct {
	kind  kind
	who   int
	op    op
	fate  fate
	index int           // of the late request
	by    time.Duration // of time
}

type kind int

const (
	send kind = iota
	arrive
	pass
)

func (m move) String() string {
	switch m.kind {
	case arrive:
		return fmt.Sprintf("late request %d arrives", m.index)
	case pass:
		return fmt.Sprintf("%v pass", m.by)
	}
	return fmt.Sprintf("caller %d: %v%v", m.who, m.op, m.fate)
}

// moves lists the next moves.
func (w *world) moves() []move {
	moves := make([]move, 0, 64)
	for who := range w.callers {
		if who == 1 && w.callers[0].claims == 0 {
			// The two differ only by name, so the first one begins.
			continue
		}
		for o := range ops {
			if !w.may(who, o) {
				continue
			}
			for f := range fates {
				if (f == delayed || f == echoed) && len(w.late) == maxLate {
					continue
				}
				moves = append(moves, move{kind: send, who: who, op: o, fate: f})
			}
		}
	}
	for i := range w.late {
		moves = append(moves, move{kind: arrive, index: i})
	}
	return append(moves, move{kind: pass, by: tick}, move{kind: pass, by: age})
}

// may reports whether a caller that follows the protocol could send o. The
// decision depends on the caller's knowledge, which may be out of date.
func (w *world) may(who int, o op) bool {
	c := &w.callers[who]
	running := c.met.Status == driver.InProgress
	switch o {
	case opCreate:
		// A caller that is leaving may claim again, with a new token.
		return c.phase != owning
	case opTakeOver:
		return c.phase != owning && running && c.met.Lapsed(w.now.Add(-skew))
	case opExtend, opStep:
		return c.phase == owning
	case opComplete, opFail, opDelete, opKeep, opRefund:
		return c.phase != idle
	case opAdopt:
		return c.phase == leaving && running && c.met.Owner == "" && c.met.Lease.Equal(driver.LeaseEnded)
	case opRecreate:
		return c.phase == leaving && c.knows && c.met.Status == driver.Absent
	}
	return false
}

func (c *caller) token(who int) string { return string([]byte{'a' + byte(who), '0' + byte(c.claims)}) }

// request returns the request of a caller, and records that it was sent.
func (w *world) request(who int, o op) write {
	c := &w.callers[who]
	if (o == opCreate || o == opTakeOver) && (c.phase == idle || c.phase == leaving) {
		c.claims++
		c.phase, c.until = claiming, time.Time{}
	}
	token := c.token(who)
	if o != opCreate && o != opTakeOver && o != opExtend && o != opStep {
		c.phase, c.until = leaving, time.Time{}
	}
	out := write{who: who, op: o, cutoff: w.now.Add(-skew), fence: driver.Fence{ID: w.id, Owner: token}}
	until, expires := w.now.Add(lease), w.now.Add(retention)
	switch o {
	case opCreate:
		out.record = claim(token)
		out.record.ID, out.record.Lease, out.record.Expires = w.id, until, until.Add(retention)
	case opRecreate:
		out.cutoff = time.Time{}
		out.record = driver.Record{ID: w.id, Status: driver.Completed, Owner: token, Attempt: 1,
			Data: []byte(token), Expires: expires, Ended: success}
	case opTakeOver:
		out.fence = fenceOf(c.met)
		out.change = driver.Change{Owner: token, Lease: until, Expires: until.Add(retention), Fingerprint: "fingerprint"}
	case opExtend:
		until = until.Add(lease)
		out.change = driver.Change{Lease: until, Expires: until.Add(retention)}
	case opStep:
		out.change = step("charge.1", token)
	case opComplete:
		out.change = driver.Change{Status: driver.Completed, Data: []byte(token), Expires: expires, Ended: success}
	case opAdopt:
		out.fence = fenceOf(c.met)
		out.change = driver.Change{Owner: token, Status: driver.Completed, Data: []byte(token), Expires: expires, Ended: success}
	case opFail:
		out.change = driver.Change{Status: driver.Failed, Data: []byte("failed"), Expires: expires, Ended: ending}
	case opDelete:
		out.change = del
	case opKeep:
		out.change = keep
	case opRefund:
		out.change = refund
	}
	return out
}

// learn updates the knowledge of a caller from the answer to its request.
func (w *world) learn(r write, ok bool) {
	c, item := &w.callers[r.who], w.item
	c.met, c.knows = item, true
	mine := item.Status == driver.InProgress && item.Owner == c.token(r.who)
	switch r.op {
	case opCreate, opTakeOver, opExtend, opStep:
		if mine && (ok || r.op != opStep) {
			c.phase, c.until = owning, item.Lease
		} else if c.phase == owning {
			c.phase, c.until = leaving, time.Time{}
		}
	default:
		if ok {
			c.phase = idle
		}
	}
}
