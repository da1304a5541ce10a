package main

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/attribute"
	"github.com/lambda-once/once/internal/recorditem"
)

// record is an item as an operator sees it. Unlike the store, it reads what it can
// of a broken item: operators are asked about those.
type record struct {
	item map[string]types.AttributeValue

	id, status, owner, fingerprint string
	attempt, refunds               int64 // 0 is absent
	lease, expires                 *time.Time
	data                           types.AttributeValue
	steps                          []step
	undone                         []string // names of steps
	undoing                        bool     // the call has failed for good
	problems                       []string // what is not as it should be
}

func (t *table) record(item map[string]types.AttributeValue) *record {
	r := &record{item: item, data: item[t.attr.Data]}
	id := t.attr.ID
	if t.attr.SortKey != "" {
		id = t.attr.SortKey
	}
	r.id, r.status = r.text(id), r.text(t.attr.Status)
	r.owner = r.text(t.attr.Owner)
	switch v := item[t.attr.Validation].(type) {
	case *types.AttributeValueMemberNULL:
	case *types.AttributeValueMemberS:
		r.fingerprint = v.Value // or none, if it is empty
	default:
		r.text(t.attr.Validation)
	}
	r.attempt, _ = r.number(t.attr.Attempt, 1, 1<<62)
	r.refunds, _ = r.number(t.attr.Refunds, 0, 1<<62)
	if n, ok := r.millis(t.attr.Lease); ok {
		at := time.UnixMilli(n).UTC()
		r.lease = &at
	}
	if n, ok := r.number(t.attr.Expiration, 0, recorditem.MaxSeconds); ok {
		at := time.Unix(n, 0).UTC()
		r.expires = &at
	}
	switch m := item[t.attr.Steps].(type) {
	case nil:
	case *types.AttributeValueMemberM:
		r.readSteps(m.Value)
	default:
		r.problems = append(r.problems, t.attr.Steps+" is not a map")
	}
	return r
}

func (r *record) text(name string) string {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		if v.Value == "" {
			r.problems = append(r.problems, name+" is empty")
		}
		return v.Value
	default:
		r.problems = append(r.problems, name+" is not a string")
	}
	return ""
}

// millis reads a lease, which has a fraction if Powertools for TypeScript computed it
// so.
func (r *record) millis(name string) (int64, bool) {
	if v, ok := r.item[name].(*types.AttributeValueMemberN); ok {
		if n, ok := recorditem.WholeMillis(v.Value); ok {
			return n, true
		}
	}
	return r.number(name, 0, recorditem.MaxMillis)
}

func (r *record) number(name string, low, high int64) (int64, bool) {
	switch v := r.item[name].(type) {
	case nil:
		return 0, false
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil && n >= low && n <= high {
			return n, true
		}
		r.problems = append(r.problems, fmt.Sprintf("%s is not a whole number from %d to %d", name, low, high))
	default:
		r.problems = append(r.problems, name+" is not a number")
	}
	return 0, false
}

// operation returns the first part of the id. In records of Powertools it is the
// name of a function.
func (r *record) operation() string {
	operation, _, found := strings.Cut(r.id, "#")
	if !found {
		return ""
	}
	return operation
}

// used returns the number of attempts that count against Config.MaxAttempts.
func (r *record) used() int64 { return max(r.attempt, 1) - r.refunds }

// neverExpires reports whether the record stays for ever, as those of operations
// with MaxAttempts do.
func (r *record) neverExpires() bool { return r.expires == nil || r.expires.Year() >= 9999 }

// foreign reports whether another library wrote the record: it has neither owner
// nor attempt.
func (r *record) foreign() bool { return r.owner == "" && r.attempt == 0 }

// state is how a call would treat the record.
type state string

const (
	running   state = "running"   // a lease is live
	leaseless state = "leaseless" // in progress without a lease: Powertools'
	lapsed    state = "lapsed"    // the lease has ended, and no call has taken over
	released  state = "released"  // released, and no call has claimed it since
	completed state = "completed"
	failed    state = "failed"
	over      state = "over" // retention has ended: the next call runs
	unknown   state = "unknown"
)

// at returns the state as package idempotent sees it. before is the current time,
// moved back by the clock skew.
func (r *record) at(before time.Time) state {
	ended := r.lease != nil && r.lease.Before(before)
	if r.expires != nil && r.expires.Unix() < before.Unix() && (r.status != "INPROGRESS" || r.lease == nil || ended) {
		return over
	}
	switch r.status {
	case "COMPLETED":
		return completed
	case "FAILED":
		return failed
	case "INPROGRESS":
	default:
		return unknown
	}
	switch {
	case r.lease == nil:
		return leaseless
	case r.lease.UnixMilli() == 0:
		return released
	case ended:
		return lapsed
	default:
		return running
	}
}

// shape describes the stored result without showing it.
func shape(v types.AttributeValue) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("text of %d bytes, SHA-256 %.12x", len(v.Value), sha256.Sum256([]byte(v.Value)))
	case *types.AttributeValueMemberB:
		if reference, ok := payload(v); ok {
			return "kept elsewhere: " + printable(reference)
		}
		if key, ok := sealedWith(v); ok {
			return fmt.Sprintf("sealed with key %q, %d bytes", key, len(v.Value)-1)
		}
		kind := map[byte]string{recorditem.TagRaw: "binary", recorditem.TagGzip: "compressed", recorditem.TagUnavailable: "unavailable, the reason"}
		if len(v.Value) == 0 || kind[v.Value[0]] == "" {
			return fmt.Sprintf("binary of %d bytes, not Once's", len(v.Value))
		}
		return fmt.Sprintf("%s of %d bytes, SHA-256 %.12x", kind[v.Value[0]], len(v.Value)-1, sha256.Sum256(v.Value[1:]))
	default:
		return fmt.Sprintf("native of %d bytes", attribute.Size(v))
	}
}

// payload returns the reference of a result in a payload store.
func payload(v types.AttributeValue) (reference string, ok bool) {
	b, ok := v.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) < 2 || b.Value[0] != recorditem.TagPayload {
		return "", false
	}
	return string(b.Value[1:]), true
}

// sealedWith returns the id of the key that a result is sealed with.
func sealedWith(v types.AttributeValue) (key string, ok bool) {
	b, ok := v.(*types.AttributeValueMemberB)
	if !ok || len(b.Value) == 0 || b.Value[0] != recorditem.TagRaw {
		return "", false
	}
	return seal.KeyID(b.Value[1:])
}

// printable quotes a text that would control the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
