package storetest

import (
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// redaction returns the redaction of the record that was shown, with changes.
func (s *subject) redaction(changes ...func(c *driver.Change)) driver.Change {
	return but(s.shown.Redaction("ann", "request \"7\""), changes...)
}

// redacts expects that the record that was shown loses its result, and that no call can
// have the key again.
func redacts(s *subject) {
	s.Helper()
	s.do(applies(s.redaction()), meets(claim("bob"), now))
}

// elsewhere is the completion of a call whose result is in a payload store.
var elsewhere = driver.Change{Status: driver.Completed, Payload: "reference", Expires: now.Add(retention), Ended: success}

func testRedact(t *testing.T, h Harness) {
	for name, r := range states() {
		if r.Status == driver.InProgress {
			h.test(t, name, plants(r), inspects, func(s *subject) { s.do(refusesToApply(s.redaction())) })
		} else {
			h.test(t, name, plants(r), inspects, redacts)
		}
	}
	h.test(t, "of another library", plants(but(foreign(), leaseless, func(r *driver.Record) {
		r.Status, r.Data = driver.Completed, []byte("1")
	})), inspects, redacts)
	h.test(t, "elsewhere", claimed, wins(elsewhere), inspects, redacts)
	h.test(t, "without a result", claimed, wins(but(elsewhere, func(c *driver.Change) { c.Payload = "" })), inspects, redacts)
	h.test(t, "again", plants(result()), inspects, redacts, inspects, redacts)
	h.test(t, "what another program has left", plants(but(result(), requested, func(r *driver.Record) {
		r.Lease, r.Steps = now, map[string][]byte{"charge": []byte("1")}
	})), inspects, redacts)
	h.test(t, "and resolved again", plants(after(claim("alice"), resolved)), inspects, redacts, inspects, applies(adopt("operator-1")))
	for changed, change := range map[string]func(r *driver.Record){
		"its result":    func(r *driver.Record) { r.Data = []byte("43") },
		"its owner":     func(r *driver.Record) { r.Owner = "operator-1" },
		"its ending":    func(r *driver.Record) { r.Ended = operators("bob") },
		"its retention": func(r *driver.Record) { r.Expires = r.Expires.Add(time.Second) },
		"its deletion":  func(r *driver.Record) { *r = driver.Record{} },
		"a next claim":  func(r *driver.Record) { *r = claim("bob") },
	} {
		h.test(t, "not after "+changed, plants(result()), inspects, replanted(change), func(s *subject) { s.do(appliesNot(s.redaction())) })
	}
	for name, change := range map[string]func(c *driver.Change){
		"a status":      func(c *driver.Change) { c.Status = driver.Failed },
		"a result":      func(c *driver.Change) { c.Data, c.Unavailable = []byte("43"), "" },
		"another text":  func(c *driver.Change) { c.Unavailable = "gone" },
		"a retention":   func(c *driver.Change) { c.Expires = now },
		"another time":  func(c *driver.Change) { c.Ended.At = now },
		"a fingerprint": func(c *driver.Change) { c.Fingerprint = "other" },
	} {
		h.test(t, "with "+name, plants(result()), inspects, func(s *subject) { s.do(refusesToApply(s.redaction(change))) })
	}
	h.test(t, "a record that calls cannot read", plants(result()), inspects, func(s *subject) {
		s.shown.Problems = []string{"its data"}
		s.do(refusesToApply(s.redaction()))
	})
}
