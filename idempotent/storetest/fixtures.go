package storetest

import (
	"time"

	"github.com/lambda-once/once/idempotent"
)

// now is years ahead of any real clock; see the package comment.
var now = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	lease     = time.Minute
	retention = 24 * time.Hour
)

// claim is the record of a first owner.
func (s subject) claim(owner string) idempotent.Record {
	return idempotent.Record{
		ID:          s.id,
		Status:      idempotent.InProgress,
		Owner:       owner,
		Attempt:     1,
		Lease:       now.Add(lease),
		Expires:     now.Add(lease + retention),
		Fingerprint: "fingerprint",
	}
}

// claimed creates the record of a first owner.
func (s subject) claimed(owner string) idempotent.Record {
	s.Helper()
	r := s.claim(owner)
	s.creates(r, now)
	return r
}

// takeOver is the change that takes r over at the end of its lease, and the
// record that it must leave.
func takeOver(r idempotent.Record, owner string) (idempotent.Fence, idempotent.Change, idempotent.Record) {
	c := idempotent.Change{
		Owner:       owner,
		Lease:       now.Add(3 * lease),
		Expires:     now.Add(3*lease + retention),
		Fingerprint: "another fingerprint",
	}
	after := r
	after.Owner, after.Lease, after.Expires = owner, c.Lease, c.Expires
	after.Attempt = max(r.Attempt, 1) + 1
	if r.Fingerprint == "" {
		after.Fingerprint = c.Fingerprint
	}
	return fenceOf(r), c, after
}

// fenceOf compares everything that was read.
func fenceOf(r idempotent.Record) idempotent.Fence {
	return idempotent.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease}
}

func extend() idempotent.Change {
	return idempotent.Change{Lease: now.Add(2 * lease), Expires: now.Add(2*lease + retention)}
}

func step(name, data string) idempotent.Change {
	return idempotent.Change{Steps: map[string][]byte{name: []byte(data)}}
}

func finish(status idempotent.Status, data string) idempotent.Change {
	return idempotent.Change{Status: status, Data: []byte(data), Expires: now.Add(retention)}
}

// elsewhere is finish with a result that is kept elsewhere.
func elsewhere(status idempotent.Status, reference string) idempotent.Change {
	return idempotent.Change{Status: status, Payload: reference, Expires: now.Add(retention)}
}

// finished is what a finishing change leaves of r.
func finished(r idempotent.Record, c idempotent.Change) idempotent.Record {
	r.Status, r.Data, r.Payload, r.Unavailable, r.Expires = c.Status, c.Data, c.Payload, c.Unavailable, c.Expires
	r.Lease, r.Steps = time.Time{}, nil
	if c.Owner != "" {
		r.Owner = c.Owner
	}
	return r
}

// kept is what a release that keeps the record leaves of r.
func kept(r idempotent.Record, how idempotent.Release) idempotent.Record {
	r.Owner, r.Lease = "", idempotent.LeaseEnded
	if how == idempotent.ReleaseRefund {
		r.Refunds++
	}
	return r
}

func release(how idempotent.Release) idempotent.Change { return idempotent.Change{Release: how} }
