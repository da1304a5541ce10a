package driver

import "reflect"

// Redacted is the Unavailable of a record whose result an operator has removed.
const Redacted = "redacted by an operator"

// Redaction returns the change with which an operator removes a person's data from a
// finished record, and keeps its guarantee. The result or error, the reference of a payload,
// and steps and request, if there are any, go. All that decides about calls stays: status, owner,
// retention, fingerprint and attempts. A repetition therefore runs nothing, and its caller
// receives a *idempotent.ResultUnavailableError; work without a result replays as before.
//
// The id and the fingerprint still let a reader confirm a guess of the key or the payload,
// and Ended keeps its time and the names of the error. An object in a [PayloadStore] stays: it
// is named by its content, and may belong to further records. A process with a cache
// (Config.CacheEntries) replays the result until it ends. Backups, logs and messages are not
// changed.
func (e Entry) Redaction(by, reason string) Change {
	ended := e.Ended
	ended.By, ended.Reason = by, reason
	return Change{Status: e.Status, Unavailable: Redacted, Ended: ended}
}

// validateRedaction checks a change that finishes a record without a new owner.
func (e Entry) validateRedaction(c Change) error {
	switch {
	case e.Status != Completed && e.Status != Failed || len(e.Problems) > 0:
		return &InvalidWriteError{Reason: "only a finished record that can be read can be redacted; with a new owner, one in progress can be finished"}
	case !reflect.DeepEqual(c, e.Redaction(c.Ended.By, c.Ended.Reason)):
		return &InvalidWriteError{Reason: "a redaction removes the result and changes nothing else: see Entry.Redaction"}
	}
	return nil
}
