package storetest

import (
	"fmt"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// A world is one record, two callers that follow the protocol, requests that
// are still on their way, and the time. Worlds are values: a search goes back
// by dropping one.
type world struct {
	id      string
	item    driver.Record // by the model
	now     time.Time
	callers [2]caller
	late    []write
}

// caller is what one caller knows.
type caller struct {
	phase  phase
	claims int           // tokens minted
	met    driver.Record // last answer
	asked  bool          // met is an answer
	until  time.Time     // lease that the store has confirmed
}

// phase is how far a caller has come.
type phase int

const (
	idle     phase = iota
	claiming       // has sent a claim and not heard that it owns the record
	owning         // has heard so
	leaving        // has sent a finish or a release, or has lost the record
)

const (
	maxLate = 2
	skew    = time.Second
	// tick makes every lease lapse, and age every retention.
	tick = 3 * lease
	age  = 3 * retention
)

// fate is what becomes of a request and of its answer.
type fate int

const (
	answered fate = iota
	lost          // applied, and the caller does not learn it
	delayed       // applied later, and the caller does not learn it
	repeated      // applied twice at once; the caller learns the second answer
	echoed        // answered, and applied once more later
	fates
)

func (f fate) String() string {
	return [...]string{"", ", answer lost", ", delayed", ", applied twice", ", and a copy is late"}[f]
}

// move is one way for the world to go on: a request, the arrival of a late
// one, or time.
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

// moves lists what can happen next.
func (w *world) moves() []move {
	moves := make([]move, 0, 64)
	for who := range w.callers {
		if who == 1 && w.callers[0].claims == 0 {
			// The two differ by name alone: let the first one begin.
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

// may reports whether a caller that follows the protocol could send o. It
// decides on what it knows, which may be long out of date.
func (w *world) may(who int, o op) bool {
	c := &w.callers[who]
	running := c.met.Status == driver.InProgress
	switch o {
	case opCreate:
		// One that is leaving may begin anew, with another token.
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
		return c.phase == leaving && c.asked && c.met.Status == driver.Absent
	}
	return false
}

func (c *caller) token(who int) string { return string([]byte{'a' + byte(who), '0' + byte(c.claims)}) }

// request builds what a caller sends, and notes that it has sent it.
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
	out := write{who: who, op: o, over: w.now.Add(-skew)}
	out.fence = driver.Fence{ID: w.id, Owner: token}
	until := w.now.Add(lease)
	switch o {
	case opCreate:
		out.record = driver.Record{ID: w.id, Status: driver.InProgress, Owner: token, Attempt: 1,
			Lease: until, Expires: until.Add(retention), Fingerprint: "fingerprint"}
	case opTakeOver:
		out.fence = fenceOf(c.met)
		out.change = driver.Change{Owner: token, Lease: until, Expires: until.Add(retention), Fingerprint: "fingerprint"}
	case opExtend:
		until = until.Add(lease)
		out.change = driver.Change{Lease: until, Expires: until.Add(retention)}
	case opStep:
		out.change = step("charge.1", token)
	case opComplete, opAdopt, opRecreate:
		out.change = driver.Change{Status: driver.Completed, Data: []byte(token), Expires: w.now.Add(retention)}
	case opFail:
		out.change = driver.Change{Status: driver.Failed, Data: []byte("failed"), Expires: w.now.Add(retention)}
	case opDelete:
		out.change = release(driver.ReleaseDelete)
	case opKeep:
		out.change = release(driver.ReleaseKeep)
	case opRefund:
		out.change = release(driver.ReleaseRefund)
	}
	if o == opAdopt {
		out.fence, out.change.Owner = fenceOf(c.met), token
	}
	if o == opRecreate {
		out.over = time.Time{}
		out.record = driver.Record{ID: w.id, Status: driver.Completed, Owner: token, Attempt: 1,
			Data: out.change.Data, Expires: out.change.Expires}
	}
	return out
}

// learn is what a caller concludes from the answer to its request.
func (w *world) learn(r write, item driver.Record, ok bool) {
	c := &w.callers[r.who]
	c.met, c.asked = item, true
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
