package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

const aboutResolve = `
Resolves a record in progress whose outcome only a person knows, such as one of
an operation that never runs again. All calls with the key then get what is
stored here, and run nothing.

--completed: the work was done. --data is its result, as JSON of the type that
the function returns. With --no-result there is none, and calls get the zero
value of their type. --failed: the work was not done, and will not be. Calls get
a ReplayedError with the message.

--http is for callers of package httpapi: they get a response with this status,
the --body and each --header. The work may have been done or not. From --data
they get the JSON with the status 200, from --no-result the status 204, and from
--failed an error, which is the status 500 or 502. A function with an earlier
version of Once reads only --http.

A function with a Sealer reads only sealed results, unless it accepts plain
data. Its calls get a ResultUnavailableError for what is stored here, and the
key does not run again.

resolve refuses a record whose lease is live, unless --force is set: its owner
runs. If the owner finishes later, its callers get what is stored here.

What resolve has stored, it can replace, and nothing else that is finished. Some
callers may have the former result. Functions with a cache (CacheEntries) replay
it until their processes end.
`

// resolution is the outcome that the operator states.
type resolution struct {
	writeFlags
	completed, noResult    bool
	file                   string // of --data, or of --body
	status                 int    // of an HTTP response
	headers                http.Header
	message, kind, errCode string
	by, reason             string
	retention              time.Duration
}

func (o *resolution) add(f *flag.FlagSet) {
	o.writeFlags.add(f)
	f.BoolVar(&o.completed, "completed", false, "the work was done")
	f.StringVar(&o.file, "data", "", "a `file` with the result's JSON; - is standard input, and then --yes is needed")
	f.BoolVar(&o.noResult, "no-result", false, "with --completed: there is no result, and calls get the zero value")
	f.IntVar(&o.status, "http", 0, "for callers of package httpapi: the response's `status`")
	f.StringVar(&o.file, "body", "", "with --http, a `file` with the response's body; - is standard input, and then --yes is needed")
	o.headers = http.Header{}
	f.Func("header", "with --http, a header of the response as `name:value`; several are allowed", func(line string) error {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return errors.New("it is not name:value")
		}
		o.headers.Add(name, strings.TrimSpace(value))
		return nil
	})
	f.StringVar(&o.message, "failed", "", "the work failed permanently: the error's `message`")
	f.StringVar(&o.kind, "error-type", "OperatorError", "with --failed, the error's type `name`, on which Step Functions match")
	f.StringVar(&o.errCode, "error-code", "", "with --failed, the error's `code`")
	f.StringVar(&o.by, "by", "", "the `name` of who resolves it, of 256 bytes at most, which is stored and shown; it is stated, and so no proof")
	f.StringVar(&o.reason, "reason", "", "a `text` of 512 bytes at most that says why, which is stored and shown; no personal data")
	cli.DurationVar(f, &o.retention, "retention", 24*time.Hour, "how long calls get the result at least, a `duration` such as 7d; never shorter than the record's own retention; required for a record that never expires. With Config.RefuseLate, at least the functions' Retention: until then a repetition is not late, and would run")
}

func resolve(ctx context.Context, c *cli.Call) error {
	var o resolution
	o.add(c.FlagSet)
	w, err := o.Wanted(c)
	if err != nil {
		return err
	}
	if err := o.check(c); err != nil {
		return err
	}
	data, err := o.outcome(c)
	if err != nil {
		return err
	}
	t, r, err := o.find(ctx, c, w)
	if err != nil {
		return err
	}
	if err := o.weigh(r.MayResolve(t.Now(), o.Skew, o.status != 0, o.completed)); err != nil {
		return err
	}
	expires, err := o.expires(r, t.Now(), c.Given("retention"))
	if err != nil {
		return err
	}
	// The token is new, so that a late owner sees that the result is not its own.
	change := driver.Change{Status: driver.Completed, Owner: driver.OperatorOwner + rand.Text(), Expires: expires, Data: data, Ended: driver.Ending{At: t.Now(), By: o.by, Reason: o.reason}}
	what := fmt.Sprintf("It will be COMPLETED: until %s, all calls get this result (text of %s); after that the key runs again.", cli.Stamp(expires), record.Digest(data))
	switch {
	case c.Given("http"):
		change.Owner = driver.OperatorHTTPOwner + rand.Text()
		what = fmt.Sprintf("It will be COMPLETED: until %s, all callers of package httpapi get this response (status %d, text of %s), and others an error; after that the key runs again.", cli.Stamp(expires), o.status, record.Digest(data))
	case o.noResult:
		what = fmt.Sprintf("It will be COMPLETED until %s, without a result: all calls get the zero value of their type; after that the key runs again.", cli.Stamp(expires))
	case !o.completed:
		change.Status, change.Ended.Type, change.Ended.Code = driver.Failed, o.kind, o.errCode
		what = fmt.Sprintf("It will be FAILED: until %s, all calls get this error (text of %s); after that the key runs again.", cli.Stamp(expires), record.Digest(data))
	}
	if r.Resolved() {
		what += "\nAn operator has resolved it before: some callers may have that result, and caches replay it until their processes end."
	}
	return o.write(ctx, c.Terminal, t, r, change, what, string(change.Status))
}

func (o *resolution) check(c *cli.Call) error {
	response, file := c.Given("http"), c.Given("data") || c.Given("body")
	o.completed = o.completed || response
	switch {
	case response && (o.noResult || c.Given("data") || c.Given("failed")):
		return cli.Endf(cli.CodeUsage, "--http excludes --data, --no-result and --failed")
	case !response && (c.Given("body") || c.Given("header")):
		return cli.Endf(cli.CodeUsage, "--body and --header are for --http")
	case o.completed == c.Given("failed"):
		return cli.Endf(cli.CodeUsage, "set either --completed or --failed MESSAGE")
	case !o.completed && o.message == "":
		return cli.Endf(cli.CodeUsage, "--failed has an empty message; is a variable unset?")
	case (file || o.noResult) && !o.completed:
		return cli.Endf(cli.CodeUsage, "--data and --no-result are for --completed")
	case file && o.file == "":
		return cli.Endf(cli.CodeUsage, "--data or --body names no file; is a variable unset?")
	case !response && o.completed && o.noResult == file:
		return cli.Endf(cli.CodeUsage, "set --data FILE, --no-result or --http STATUS: all calls get the result that is stored")
	case o.file == "-" && !o.yes:
		return cli.Endf(cli.CodeUsage, "the file - is standard input, so that nothing can be confirmed: set --yes as well")
	case c.Given("by") && o.by == "" || c.Given("reason") && o.reason == "":
		return cli.Endf(cli.CodeUsage, "--by or --reason is empty; is a variable unset?")
	case o.retention < time.Second:
		return cli.Endf(cli.CodeUsage, "--retention is less than a second")
	}
	return nil
}

// expires returns a time that is never before the stored one: duplicates that
// arrive until then would run. A record that never expires, as with MaxAttempts,
// has no such time, and only the operator knows how long duplicates may arrive.
func (o *resolution) expires(r *record.Record, now time.Time, given bool) (time.Time, error) {
	at := now.Add(o.retention + o.Skew + time.Second).UTC().Truncate(time.Second)
	switch never := r.NeverExpires(); {
	case never && !given:
		return at, cli.Endf(cli.CodeUsage, "the record never expires, so that once cannot know how long calls may still arrive: set --retention, after which the key runs again; nothing was written")
	case !never && r.Expires.After(at):
		return r.Expires, nil
	}
	return at, nil
}

// outcome returns the result, or the error, as package idempotent stores it. No
// result is null, which every type decodes as its zero value: a call refuses a
// record without data.
func (o *resolution) outcome(c *cli.Call) ([]byte, error) {
	switch {
	case !o.completed:
		return (&idempotent.ReplayedError{Type: o.kind, Message: o.message, Code: o.errCode}).Encode()
	case o.noResult:
		return []byte("null"), nil
	}
	data, err := readFile(o.file, c.In)
	if err == nil && c.Given("http") {
		data, err = httpapi.EncodeResponse(o.status, o.headers, data)
	}
	if err != nil {
		return nil, cli.Misuse(err)
	}
	if !json.Valid(data) {
		return nil, cli.Endf(cli.CodeUsage, "the result is not JSON, so that no function could read it; a text needs quotes")
	}
	return data, nil
}

func readFile(name string, in io.Reader) ([]byte, error) {
	switch name {
	case "": // a response without a body
		return nil, nil
	case "-":
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}
