package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/seal"
)

// Shown is a record for --json. Times are in UTC, and a field is absent if its
// attribute is.
type Shown struct {
	Record      string    `json:"record"`
	Operation   string    `json:"operation,omitempty"`
	Status      string    `json:"status"`
	State       State     `json:"state"`
	Attempt     int64     `json:"attempt,omitempty"`
	Refunds     int64     `json:"refunds,omitempty"`
	Used        int64     `json:"used"`
	Owner       string    `json:"owner,omitempty"`
	Lease       time.Time `json:"lease,omitzero"`
	Expires     time.Time `json:"expires,omitzero"`
	Began       time.Time `json:"began,omitzero"`
	Ended       shownEnd  `json:"ended,omitzero"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Steps       []Step    `json:"steps,omitempty"`
	Problems    []string  `json:"problems,omitempty"`
	*wholeItem
}

// wholeItem is known only if all attributes were read.
type wholeItem struct {
	Data  string `json:"data"`
	Bytes int    `json:"bytes"`
	// Request describes the request that is stored, as Data does the result.
	Request string `json:"request,omitempty"`
	Next    next   `json:"next"`
	// The reference of a result in a payload store, and the key that it is sealed
	// with.
	Payload    string `json:"payload,omitempty"`
	SealedWith string `json:"sealed_with,omitempty"`
	// Of inspect --data. Results that are not JSON are in base64.
	Result      json.RawMessage `json:"result,omitempty"`
	ResultBytes []byte          `json:"result_base64,omitempty"`
	Unavailable string          `json:"unavailable,omitempty"`
	Saga        *Saga           `json:"saga,omitempty"`
}

// JSON returns the attributes that a brief scan reads. before is the time less the clock skew.
func (r *Record) JSON(before time.Time) *Shown {
	e := r.end()
	s := &Shown{
		Record: r.ID, Operation: r.Operation(), Status: string(r.Status), State: r.StateAt(before),
		Attempt: r.Attempt, Refunds: r.Refunds, Used: r.Used(), Owner: r.Owner,
		Expires: r.Expires.UTC(), Began: r.Began.UTC(), Ended: shownEnd{e.At.UTC(), e.Type, e.Code, e.By, e.Reason}, Fingerprint: r.Fingerprint, Steps: r.steps, Problems: r.Problems,
	}
	if !r.Released() {
		s.Lease = r.Lease.UTC()
	}
	return s
}

// Whole returns all attributes, without the result.
func (r *Record) Whole(before time.Time) *Shown {
	s := r.JSON(before)
	s.wholeItem = &wholeItem{Data: r.shape(), Bytes: r.Size, Payload: r.Payload, Request: r.request(), Next: r.next(s.State)}
	s.SealedWith, _ = seal.KeyID(r.Data)
	return s
}

// Print writes the record as lines: its status, the events of its life in order, and the rest.
func (r *Record) Print(w io.Writer, now, before time.Time) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-12s %s\n", name, text)
		}
	}
	status, at := cli.Printable(string(r.Status)), string(r.StateAt(before))
	if strings.EqualFold(string(r.Status), at) {
		at = ""
	}
	line("record", cli.Printable(r.ID))
	line("status", cli.Present(", ", status, at))
	for _, e := range r.Life(now, before) {
		line(e.Name, e.in(now))
	}
	line("owner", cli.Printable(r.Owner))
	line("fingerprint", cli.Printable(r.Fingerprint))
	line("request", r.request())
	line("data", r.shape())
	line("size", fmt.Sprint(r.Size, " bytes"))
	for _, p := range r.Problems {
		line("problem", cli.Printable(p))
	}
}

type Rows struct {
	W    io.Writer
	JSON bool
	N    int // written so far
}

// Write writes a record. before is the time at which it was read, less the clock skew.
func (o *Rows) Write(r *Record, before time.Time) error {
	if o.N++; o.JSON {
		return cli.WriteJSON(o.W, r.JSON(before))
	}
	if o.N == 1 {
		o.columns("STATUS", "STATE", "ATTEMPT", "SINCE", "EXPIRES", "ERROR", "RECORD")
	}
	attempt := "-"
	if r.Attempt > 0 {
		attempt = fmt.Sprint(r.Attempt)
	}
	o.columns(cli.Printable(string(r.Status)), string(r.StateAt(before)), attempt, cli.Stamp(r.Since(before)), cli.Stamp(r.Expires),
		cmp.Or(cli.Printable(r.Cause()), "-"), cli.Printable(r.ID))
	return nil
}

func (o *Rows) columns(status, state, attempt, since, expires, cause, id string) {
	fmt.Fprintf(o.W, "%-10s  %-9s  %7s  %-20s  %-20s  %-16s  %s\n", status, state, attempt, since, expires, cause, id)
}
