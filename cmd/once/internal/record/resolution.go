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
// WithResult, WithoutResult, WithResponse or WithFailure sets the outcome.
type Resolution struct {
	Kind       kind   `json:"kind"`
	Data       []byte `json:"data"`             // as package idempotent stores it
	HTTPStatus int    `json:"status,omitempty"` // of a response
	Type       string `json:"type,omitempty"`   // of a failure, as Code
	Code       string `json:"code,omitempty"`

	Statement
	// Retention is how long calls get the outcome at least. For a record that never
	// expires it has to be Stated.
	Retention time.Duration `json:"retention"`
	Stated    bool          `json:"retention_stated"`
}

type kind string

const (
	Result   kind = "result"
	NoResult kind = "no result" // the zero value of their type
	Response kind = "response"  // of package httpapi
	Failure  kind = "failure"
)

func (o *Resolution) WithResult(data []byte) error {
	if !json.Valid(data) {
		return cli.Endf(cli.CodeUsage, "the result is not JSON, so that no function could read it; a text needs quotes")
	}
	o.Kind, o.Data = Result, data
	return nil
}

// WithoutResult stores null, which every type decodes as its zero value: a call refuses a
// record without data.
func (o *Resolution) WithoutResult() { o.Kind, o.Data = NoResult, []byte("null") }

func (o *Resolution) WithResponse(status int, headers http.Header, body []byte) (err error) {
	o.Kind, o.HTTPStatus = Response, status
	if o.Data, err = httpapi.EncodeResponse(status, headers, body); err != nil {
		return cli.Misuse(err)
	}
	return nil
}

func (o *Resolution) WithFailure(name, message, code string) (err error) {
	o.Kind, o.Type, o.Code = Failure, name, code
	o.Data, err = (&idempotent.ReplayedError{Type: name, Message: message, Code: code}).Encode()
	return err
}

func (o *Resolution) May(r *Record, now time.Time, skew time.Duration) ([]Objection, error) {
	_, all, err := r.appraise(now, skew, false)
	switch {
	case err != nil:
		return nil, err
	case r.Status != driver.InProgress && !r.Resolved():
		return nil, cli.Endf(cli.CodeRefused, "the record is finished (%s), and not by an operator: some callers may have its result already, and all must get the same; nothing was written", r.Status)
	case o.Kind == Response && r.Fingerprint == "":
		return nil, cli.Endf(cli.CodeRefused, "the record has no fingerprint, as every record of package httpapi has: its callers could not read an HTTP response; use --data or --no-result; nothing was written")
	}
	if r.undoing {
		all = append(all, Objection{"it has failed permanently, and its steps are being undone: the others would stay done", "--force if you have undone them"})
	}
	if r.foreign() && o.Kind == Failure {
		all = append(all, Objection{"it is a record of another library, such as Powertools, which has no FAILED: Python raises on it", "--force if only Once reads it"})
	}
	return all, nil
}

// Write returns the write that stores the outcome in a record. Its token is new, so that a
// late owner sees that the result is not its own.
func (o *Resolution) Write(r *Record, now time.Time, skew time.Duration) (w Write, err error) {
	w.Expires, err = o.expires(r, now.Add(skew))
	if err != nil {
		return w, err
	}
	w.Status, w.Owner, w.Data = driver.Completed, driver.OperatorOwner+rand.Text(), o.Data
	w.Ended = driver.Ending{At: now, By: o.By, Reason: o.Reason}
	until := cli.Stamp(w.Expires)
	switch o.Kind {
	case Result:
		w.What = fmt.Sprintf("It will be COMPLETED: until %s, all calls get this result (text of %s); after that the key runs again.", until, Digest(o.Data))
	case NoResult:
		w.What = fmt.Sprintf("It will be COMPLETED until %s, without a result: all calls get the zero value of their type; after that the key runs again.", until)
	case Response:
		w.Owner = driver.OperatorHTTPOwner + rand.Text()
		w.What = fmt.Sprintf("It will be COMPLETED: until %s, all callers of package httpapi get this response (status %d, text of %s), and others an error; after that the key runs again.", until, o.HTTPStatus, Digest(o.Data))
	case Failure:
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
	at := now.Add(o.Retention + time.Second).UTC().Truncate(time.Second)
	switch never := r.NeverExpires(); {
	case never && !o.Stated:
		return at, cli.Endf(cli.CodeUsage, "the record never expires, so that once cannot know how long calls may still arrive: set --retention, after which the key runs again; nothing was written")
	case !never && r.Expires.After(at):
		return r.Expires, nil
	}
	return at, nil
}
