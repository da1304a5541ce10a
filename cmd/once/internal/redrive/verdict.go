package redrive

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent"
)

// The verdicts on a message. They say how the function would treat it.
const (
	willRun  = "will-run"
	waiting  = "waiting"
	finished = "finished"
	expired  = "expired"
	late     = "late"
	Refused  = "refused"
)

// Movable are the verdicts with which a move makes sense, in the order of a table.
var Movable = []string{willRun, waiting, finished, expired, late}

// A Message is one of a dead-letter queue. It is shown without its body.
type Message struct {
	ID      string       `json:"message"`
	Sent    time.Time    `json:"sent"`
	Verdict string       `json:"verdict"`
	Record  string       `json:"record,omitempty"`
	State   record.State `json:"state,omitempty"`
	Why     string       `json:"why,omitempty"`
	// Kept is why the message must not be moved, whatever its verdict.
	Kept  string `json:"kept,omitempty"`
	Moved bool   `json:"moved,omitempty"`
	Body  string `json:"body,omitempty"`

	types.Message `json:"-"`
}

type Judge struct {
	Keys      *Keyer
	Store     *store.Store
	Skew      time.Duration
	Retention time.Duration
	// Before is how long a message may have been elsewhere before it was sent to this queue.
	Before time.Duration
	// To is the queue to move to, if it is one of those that QUEUE has dead letters of.
	To string
}

const (
	isEvent    = "it is an event of a failure destination: invoke its function again with body.requestPayload"
	keyChanges = "its key changes with the move: it would run as if it had never run"
	keyIsGone  = "its key is made of what the move to a FIFO dead-letter queue has replaced"
	comesBack  = "its failure is stored, and it would come back: see once release --delete"
)

// Look judges a message. The error is one of the store.
func (j *Judge) Look(ctx context.Context, m *Message) error {
	e := received(m.Message)
	m.ID, m.Sent = e.MessageId, sent(e.Attributes["SentTimestamp"])
	m.Record, m.State, m.Why, m.Kept = "", "", "", ""
	origin := e.Attributes["DeadLetterQueueSourceArn"]
	switch {
	case isFailureEvent(e.Body):
		m.Kept = isEvent
	case origin != "" && j.To != "" && !strings.HasSuffix(origin, ":"+j.To):
		m.Kept = "it came from " + origin
	}
	k, err := j.Keys.of(ctx, e)
	if err != nil {
		m.Verdict, m.Why = Refused, "no key: "+idempotent.SafeText(err)
		return nil
	}
	if moved, err := j.Keys.of(ctx, anew(e)); err != nil || moved != k {
		if m.Kept = cmp.Or(m.Kept, keyChanges); e.Attributes["MessageDeduplicationId"] != "" {
			m.Verdict, m.Why = Refused, keyIsGone
			return nil
		}
	}
	m.Record = k.id
	r, err := j.Store.Read(ctx, k.id)
	switch {
	case store.IsMissing(err):
		m.Verdict = j.absent(m)
		return nil
	case err != nil:
		return err
	}
	m.State = r.StateAt(j.Store.Now().Add(-j.Skew))
	if m.Verdict, m.Why = judge(r, m.State, k.fingerprint); m.Verdict == finished && m.State == record.Failed {
		m.Kept = cmp.Or(m.Kept, comesBack)
	}
	return nil
}

// absent judges a message without a record. The record of a message that is older than the
// retention may have expired and been deleted. A move makes the message young, so that
// Config.RefuseLate would not refuse it.
func (j *Judge) absent(m *Message) string {
	m.Why = "it has no record: it would run as the first"
	switch age := j.Store.Now().Sub(m.Sent); { // or the longest of all
	case j.Retention == 0:
		m.Why = "whether it is late is not known without --retention"
		m.Kept = cmp.Or(m.Kept, "set --retention: a late message may have run before its record was deleted")
	case age > j.Retention-j.Skew-j.Before:
		m.Why = "it may have run: its record would be deleted by now"
		return late
	}
	return willRun
}

func judge(r *record.Record, s record.State, fingerprint string) (verdict, why string) {
	_, owned := r.Execution()
	switch {
	case s == record.Over:
		return expired, "it has a record, whose retention has ended: it would run as the first"
	case r.Unusable(s, fingerprint) != "":
		return Refused, r.Unusable(s, fingerprint)
	case s == record.Completed && fingerprint == "" && r.Fingerprint != "":
		return finished, "it is a duplicate if its payload is that of the record, which is not compared"
	case s == record.Completed, s == record.Failed:
		return finished, "it is a duplicate: a move has no effect"
	case s == record.Running, s == record.Leaseless, owned:
		return waiting, "a call runs it"
	case r.NeverExpires(): // of a saga that is being undone, too
		return waiting, "unless the limits of its function allow an attempt, it waits for a person"
	}
	return willRun, ""
}
