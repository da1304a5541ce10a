package storetest

import (
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// now is years ahead of any real clock; see the package comment.
var now = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	lease     = time.Minute
	retention = 24 * time.Hour
)

// claim returns the record of a first owner.
func (s subject) claim(owner string) driver.Record {
	return driver.Record{
		ID:          s.id,
		Status:      driver.InProgress,
		Owner:       owner,
		Attempt:     1,
		Lease:       now.Add(lease),
		Expires:     now.Add(lease + retention),
		Fingerprint: "fingerprint",
	}
}

// claimed creates the record of a first owner.
func (s subject) claimed(owner string) driver.Record {
	s.Helper()
	r := s.claim(owner)
	s.creates(r, now)
	return r
}

// planted plants a record of alice's.
func (s subject) planted(change func(r *driver.Record)) driver.Record {
	s.Helper()
	r := s.claim("alice")
	change(&r)
	return s.plant(r)
}

// takeOver returns the fence and the change that take r over at the end of its
// lease, and the record that they must leave.
func takeOver(r driver.Record, owner string) (driver.Fence, driver.Change, driver.Record) {
	c := driver.Change{
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

// takenOver lets owner take r over, and returns the record.
func (s subject) takenOver(r driver.Record, owner string) driver.Record {
	s.Helper()
	f, c, after := takeOver(r, owner)
	s.wins(f, c, after)
	return after
}

// released releases r, and returns the record that is left.
func (s subject) released(r driver.Record, how driver.Release) driver.Record {
	s.Helper()
	after := afterRelease(r, how)
	s.wins(fenceOf(r), release(how), after)
	return after
}

// fenceOf returns a fence that compares everything that was read.
func fenceOf(r driver.Record) driver.Fence {
	return driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease}
}

func extend() driver.Change {
	return driver.Change{Lease: now.Add(2 * lease), Expires: now.Add(2*lease + retention)}
}

func step(name, data string) driver.Change {
	return driver.Change{Steps: map[string][]byte{name: []byte(data)}}
}

func finish(status driver.Status, data string) driver.Change {
	return driver.Change{Status: status, Data: []byte(data), Expires: now.Add(retention)}
}

// finished returns r after the change c, which finishes it.
func finished(r driver.Record, c driver.Change) driver.Record {
	r.Status, r.Data, r.Payload, r.Unavailable, r.Expires = c.Status, c.Data, c.Payload, c.Unavailable, c.Expires
	r.Lease, r.Steps = time.Time{}, nil
	if c.Owner != "" {
		r.Owner = c.Owner
	}
	return r
}

// afterRelease returns r after a release that does not delete it.
func afterRelease(r driver.Record, how driver.Release) driver.Record {
	r.Owner, r.Lease = "", driver.LeaseEnded
	if how == driver.ReleaseRefund {
		r.Refunds++
	}
	return r
}

func release(how driver.Release) driver.Change { return driver.Change{Release: how} }

// unknown is a With that no store understands.
type unknown struct{}

func withStep(r driver.Record, name, data string) driver.Record {
	steps := map[string][]byte{name: []byte(data)}
	for n, d := range r.Steps {
		if n != name {
			steps[n] = d
		}
	}
	r.Steps = steps
	return r
}
