package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

func testTakeOver(t *testing.T, h Harness) {
	steps := map[string][]byte{"charge": []byte("1"), "mail": []byte("2")}
	h.test(t, "leaves steps and fingerprint",
		planted(func(r *driver.Record) { r.Attempt, r.Refunds, r.Steps = 3, 2, steps }), wins(takeOver("bob")))
	t.Run("a field that was read may be absent", func(t *testing.T) {
		for name, cut := range map[string]func(r *driver.Record){
			"nothing":     func(*driver.Record) {},
			"owner":       func(r *driver.Record) { r.Owner = "" },
			"attempt":     func(r *driver.Record) { r.Attempt = 0 },
			"lease":       leaseless,
			"expiration":  func(r *driver.Record) { r.Expires = time.Time{} },
			"fingerprint": func(r *driver.Record) { r.Fingerprint = "" },
			"steps":       func(r *driver.Record) { r.Steps = nil },
			"all":         func(r *driver.Record) { *r = driver.Record{Status: r.Status} },
		} {
			// A document path to a step requires that the map exists.
			h.test(t, name, planted(func(r *driver.Record) { r.Steps = steps }, cut),
				wins(takeOver("bob")), wins(step("ship", "3")))
		}
	})
	begins := but(takeOver("bob"), func(c *driver.Change) { c.Began = now.Add(2 * lease) })
	h.test(t, "begins a record that a person has released", planted(func(r *driver.Record) { r.Began = time.Time{} }), wins(begins))
	h.test(t, "leaves the request", creates(but(claim("alice"), requested), now), wins(takeOver("bob")))
	h.test(t, "a released record", claimed, wins(refund), wins(takeOver("bob")))
	// The owner of a durable execution contains its ARN, of up to 1,024 characters.
	long := "execution-:arn:" + strings.Repeat("x/:$-", 220)
	h.test(t, "a long owner", creates(claim(long), now), wins(takeOver(long+"2")), wins(step("ship", "3")))
	// The next owner may have a slow clock and a short lease.
	h.test(t, "to an earlier lease", claimed,
		wins(but(takeOver("bob"), func(c *driver.Change) { c.Lease = now.Add(lease - time.Millisecond) })))
	t.Run("differs from what was read", func(t *testing.T) { testTakeOverStale(t, h) })
}

// testTakeOverStale takes over with a fence that differs from the record in one
// field.
func testTakeOverStale(t *testing.T, h Harness) {
	for name, read := range map[string]func(f *driver.Fence){
		"owner":                       func(f *driver.Fence) { f.Owner = "carol" },
		"owner absent":                func(f *driver.Fence) { f.Owner = "" },
		"attempt":                     func(f *driver.Fence) { f.Attempt++ },
		"attempt before":              func(f *driver.Fence) { f.Attempt-- },
		"attempt absent":              func(f *driver.Fence) { f.Attempt = 0 },
		"lease a millisecond earlier": func(f *driver.Fence) { f.Lease = f.Lease.Add(-time.Millisecond) },
		"lease a millisecond later":   func(f *driver.Fence) { f.Lease = f.Lease.Add(time.Millisecond) },
		"lease ended":                 func(f *driver.Fence) { f.Lease = driver.LeaseEnded },
		"lease absent":                func(f *driver.Fence) { f.Lease = time.Time{} },
	} {
		h.test(t, name, planted(func(r *driver.Record) { r.Attempt = 4 }), loses(takeOver("bob"), under(read)))
	}
	for name, since := range map[string]func(r *driver.Record){
		"owner gone":        func(r *driver.Record) { r.Owner = "" },
		"attempt gone":      func(r *driver.Record) { r.Attempt = 0 },
		"lease gone":        leaseless,
		"lease ended since": func(r *driver.Record) { r.Lease = driver.LeaseEnded },
		"completed":         func(r *driver.Record) { r.Status = driver.Completed },
		"failed":            func(r *driver.Record) { r.Status = driver.Failed },
		"removed":           func(r *driver.Record) { r.Status = driver.Absent },
	} {
		h.test(t, name, planted(), reads, replanted(since), loses(takeOver("bob"), asRead))
	}
	h.test(t, "a heartbeat came first", claimed, reads, wins(extend()), loses(takeOver("bob"), asRead))
}

// testFence makes every write to every record that it must not change.
func testFence(t *testing.T, h Harness) {
	for _, w := range ownWrites() {
		t.Run(w.name, func(t *testing.T) { testFenceOf(t, h, w.change) })
	}
	h.test(t, "take over/no record", loses(takeOver("bob")), loses(takeOver("bob"), by("alice")))
	later := but(takeOver("carol"), func(c *driver.Change) { c.Lease = now.Add(time.Hour) })
	h.test(t, "take over/stale owner", claimed, reads, wins(takeOver("bob")), loses(later, asRead))
}

func testFenceOf(t *testing.T, h Harness, c driver.Change) {
	h.test(t, "wrong owner", claimed,
		loses(c, as("mallory")), loses(c, as("alic")), loses(c, as("alice ")), loses(c, as("Alice")))
	h.test(t, "stale owner", claimed, reads, wins(takeOver("bob")), loses(c, asRead), loses(c, as("alice")))
	h.test(t, "owner of a deleted record", claimed, wins(del), creates(claim("bob"), now), loses(c, as("alice")))
	h.test(t, "no owner in the record", claimed, reads, wins(keep), loses(c, asRead))
	h.test(t, "no owner in the fence", claimed, refuses(c, as("")))
	h.test(t, "no owner in either", plants(claim("")), refuses(c))
	// A change never creates a record.
	h.test(t, "no record", loses(c, by("alice")))
	for _, status := range []driver.Status{driver.Completed, driver.Failed} {
		h.test(t, "finished/"+string(status), claimed, reads, wins(finish(status, "the result")), loses(c, asRead))
		// A foreign library does not remove the lease.
		h.test(t, "finished with a lease/"+string(status),
			planted(func(r *driver.Record) { r.Status, r.Data = status, []byte("the result") }), loses(c))
	}
}
