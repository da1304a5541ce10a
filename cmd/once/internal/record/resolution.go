package record

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// A Resolution is the outcome that an operator states for a record, or for several.
// WithResult, WithoutResult, WithResponse or WithFailure sets what calls get.
type Resolution struct {
	Kind       kind   `json:"kind"`
	Data       []byte `json:"data"`             // as package idempotent stores it
	HTTPStatus int    `json:"status,omitempty"` // of a response
	Type       string `json:"type,omitempty"`   // of a failure, as Code
	Code       string `json:"code,omitempty"`

	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Retention is how long calls get the outcome at least. For a record that never
	// expires it has to be Stated.
	Retention time.Duration `json:"retention"`
	Stated    bool          `json:"retention_stated"`
	Skew      time.Duration `json:"clock_skew"`
}

// kind is what calls get.
type kind string

const (
	result   kind = "result"
	noResult kind = "no result" // the zero value of their type
	response kind = "response"  // of package httpapi
	failure  kind = "failure"
)

// WithResult sets a result, which must be JSON.
func (o *Resolution) WithResult(data []byte) error {
	if !json.Valid(data) {
		return cli.Endf(cli.CodeUsage, "the result is not JSON, so that no function could read it; a text needs quotes")
	}
	o.Kind, o.Data = result, data
	return nil
}

// WithoutResult stores null, which every type decodes as its zero value: a call refuses a
// record without data.
func (o *Resolution) WithoutResult() { o.Kind, o.Data = noResult, []byte("null") }

// WithResponse sets a response for callers of package httpapi.
func (o *Resolution) WithResponse(status int, headers http.Header, body []byte) (err error) {
	o.Kind, o.HTTPStatus = response, status
	if o.Data, err = httpapi.EncodeResponse(status, headers, body); err != nil {
		return cli.Misuse(err)
	}
	return nil
}

// WithFailure sets an error that callers receive as a *idempotent.ReplayedError.
func (o *Resolution) WithFailure(name, message, code string) (err error) {
	o.Kind, o.Type, o.Code = failure, name, code
	o.Data, err = (&idempotent.ReplayedError{Type: name, Message: message, Code: code}).Encode()
	return err
}

// May returns the objections against the resolution of a record, or why there can be none.
func (o *Resolution) May(r *Record, now time.Time) ([]Objection, error) {
	return r.MayResolve(now, o.Skew, o.Kind == response, o.Kind != failure)
}

// Write returns the write that stores the outcome in a record. Its token is new, so that a
// late owner sees that the result is not its own.
func (o *Resolution) Write(r *Record, now time.Time) (w Write, err error) {
	w.Expires, err = o.expires(r, now)
	if err != nil {
		return w, err
	}
	w.Status, w.Owner, w.Data = driver.Completed, driver.OperatorOwner+rand.Text(), o.Data
	w.Ended = driver.Ending{At: now, By: o.By, Reason: o.Reason}
	until := cli.Stamp(w.Expires)
	switch o.Kind {
	case result:
		w.What = fmt.Sprintf("It will be COMPLETED: until %s, all calls get this result (text of %s); after that the key runs again.", until, Digest(o.Data))
	case noResult:
		w.What = fmt.Sprintf("It will be COMPLETED until %s, without a result: all calls get the zero value of their type; after that the key runs again.", until)
	case response:
		w.Owner = driver.OperatorHTTPOwner + rand.Text()
		w.What = fmt.Sprintf("It will be COMPLETED: until %s, all callers of package httpapi get this response (status %d, text of %s), and others an error; after that the key runs again.", until, o.HTTPStatus, Digest(o.Data))
	case failure:
		w.Status, w.Ended.Type, w.Ended.Code = driver.Failed, o.Type, o.Code
		w.What = fmt.Sprintf("It will be FAILED: until %s, all calls get this error (text of %s); after that the key runs again.", until, Digest(o.Data))
	}
	if r.Resolved() {
		w.What += "\nAn operator has resolved it before: some callers may have that result, and caches replay it until their processes end."
	}
	w.Done = string(w.Status)
	return w, nil
}

// expires returns a time that is never before the stored one: duplicates that
// arrive until then would run. A record that never expires, as with MaxAttempts,
// has no such time, and only the operator knows how long duplicates may arrive.
func (o *Resolution) expires(r *Record, now time.Time) (time.Time, error) {
	at := now.Add(o.Retention + o.Skew + time.Second).UTC().Truncate(time.Second)
	switch never := r.NeverExpires(); {
	case never && !o.Stated:
		return at, cli.Endf(cli.CodeUsage, "the record never expires, so that once cannot know how long calls may still arrive: set --retention, after which the key runs again; nothing was written")
	case !never && r.Expires.After(at):
		return r.Expires, nil
	}
	return at, nil
}
