package storetest

import (
	"maps"
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
func claim(owner string) driver.Record {
	return driver.Record{
		Status:      driver.InProgress,
		Owner:       owner,
		Attempt:     1,
		Lease:       now.Add(lease),
		Expires:     now.Add(lease + retention),
		Began:       now.Add(123 * time.Millisecond),
		Fingerprint: "fingerprint",
	}
}

// The endings of a failed record and of a completed one.
var (
	ending  = driver.Ending{At: now.Add(234 * time.Millisecond), Type: "CardDeclined", Code: "51"}
	success = driver.Ending{At: ending.At}
)

// operators returns the ending of a record that an operator has finished.
func operators(by string) driver.Ending {
	return driver.Ending{At: ending.At.Add(time.Hour), By: by, Reason: "the provider has \"booked\" it, see\n#12"}
}

// foreign returns a record as Powertools for AWS Lambda writes it: without
// owner, attempt and steps.
func foreign() driver.Record {
	return driver.Record{Status: driver.InProgress, Lease: now.Add(lease), Expires: now.Add(time.Hour)}
}

// expired changes a record to an expired one.
func expired(r *driver.Record) { r.Lease, r.Expires = now.Add(-2*time.Hour), now.Add(-time.Hour) }

// requested changes a record to one with its request.
func requested(r *driver.Record) { r.Request = []byte(`{"amount":42}`) }

// leaseless changes a record to one without a lease.
func leaseless(r *driver.Record) { r.Lease = time.Time{} }

// but returns a record or a change with changes.
func but[T any](v T, changes ...func(v *T)) T {
	for _, change := range changes {
		change(&v)
	}
	return v
}

// fenceOf returns a fence that compares everything that was read.
func fenceOf(r driver.Record) driver.Fence {
	return driver.Fence{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Lease: r.Lease}
}

// takeOver takes a record over at the end of its lease.
func takeOver(owner string) driver.Change {
	return driver.Change{
		Owner:       owner,
		Lease:       now.Add(3 * lease),
		Expires:     now.Add(3*lease + retention),
		Fingerprint: "another fingerprint",
	}
}

func extend() driver.Change {
	return driver.Change{Lease: now.Add(2 * lease), Expires: now.Add(2*lease + retention)}
}

func step(name, data string) driver.Change {
	return driver.Change{Steps: map[string][]byte{name: []byte(data)}}
}

func finish(status driver.Status, data string) driver.Change {
	c := driver.Change{Status: status, Data: []byte(data), Expires: now.Add(retention), Ended: ending}
	if status == driver.Completed {
		c.Ended = success
	}
	return c
}

// adopt finishes a record that a successor of owner has released.
func adopt(owner string) driver.Change {
	c := finish(driver.Completed, owner+"'s result")
	c.Owner = owner
	return c
}

// resolved is the change of an operator, who says why.
var resolved = but(adopt("operator-0"), func(c *driver.Change) { c.Ended = operators("ann") })

func release(how driver.Release) driver.Change { return driver.Change{Release: how} }

var (
	del    = release(driver.ReleaseDelete)
	keep   = release(driver.ReleaseKeep)
	refund = release(driver.ReleaseRefund)
)

// unknown is a With that no store understands.
type unknown struct{}

// after returns r after c, which is applied.
func after(r driver.Record, c driver.Change) driver.Record {
	return alteration(fenceOf(r), c).effect(r)
}

// result returns the record of a call of alice's that is finished.
func result() driver.Record { return after(claim("alice"), finish(driver.Completed, "42")) }

func withStep(r driver.Record, name, data string) driver.Record {
	steps := map[string][]byte{}
	maps.Copy(steps, r.Steps)
	steps[name] = []byte(data)
	r.Steps = steps
	return r
}

// namedChange is a change of a case.
type namedChange struct {
	name   string
	change driver.Change
}

// ownWrites returns the writes that only the owner may make.
func ownWrites() []namedChange {
	return []namedChange{
		{"extend", extend()},
		{"extend far", driver.Change{Lease: now.AddDate(10, 0, 0)}},
		{"step", step("charge", "1")},
		{"complete", finish(driver.Completed, "1")},
		{"complete elsewhere", driver.Change{Status: driver.Completed, Payload: "reference", Expires: now.Add(retention)}},
		{"fail", finish(driver.Failed, "1")},
		{"delete", del},
		{"keep", keep},
		{"refund", refund},
	}
}
