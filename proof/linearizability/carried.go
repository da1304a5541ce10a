package linearizability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lambda-once/once/idempotent/driver"
)

// carried are the writes of histories that an HTTP request carries: one or, in a
// batch, several.
type carried struct {
	ops       []*op
	histories []*history
}

// later lets a copy arrive at a later moment of one of the histories in it.
func (c *carried) later(send func()) {
	once := sync.OnceFunc(send)
	for _, h := range c.histories {
		h.later(once)
	}
}

const idPrefix = "history-"

var recordID = regexp.MustCompile(idPrefix + "[A-Z2-7]{26}")

// parse finds the writes that a request carries, by what only they contain.
func (w *Wire) parse(header http.Header, body []byte) *carried {
	c := &carried{}
	_, operation, _ := strings.Cut(header.Get("X-Amz-Target"), ".")
	statements := []json.RawMessage{body}
	if operation == "BatchExecuteStatement" {
		var batch struct{ Statements []json.RawMessage }
		if err := json.Unmarshal(body, &batch); err != nil {
			panic(http.ErrAbortHandler) // no request of the SDK
		}
		statements = batch.Statements
	}
	for _, s := range statements {
		text := operation + " " + string(s)
		var in []*history
		for _, id := range slices.Compact(slices.Sorted(slices.Values(recordID.FindAllString(text, -1)))) {
			if h := w.historyOf(id); h != nil {
				in = append(in, h)
			}
		}
		for _, h := range in {
			if !slices.Contains(c.histories, h) {
				c.histories = append(c.histories, h)
			}
		}
		if !writes(text) || len(in) == 0 {
			continue
		}
		o := in[0].find(text)
		if o == nil {
			in[0].problem("a write that no caller made: %s", text)
			continue
		}
		c.ops = append(c.ops, o)
	}
	return c
}

func (c *carried) problem(format string, args ...any) {
	for _, h := range c.histories {
		h.problem(format, args...)
	}
}

// writes reports whether a request, or a statement in one, writes.
func writes(text string) bool {
	operation, _, _ := strings.Cut(text, " ")
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem":
		return true
	case "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction":
		return !strings.Contains(text, `"SELECT `)
	}
	return false
}

// find returns the request of the history that a statement was made from: of
// those whose distinctions it contains the one with the most, and of equal
// ones the latest.
func (h *history) find(text string) *op {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found *op
	shape := shape(text)
	for _, o := range h.requests {
		if o.kind != read && shapeOf(o.kind) == shape && o.in(text) &&
			(found == nil || len(o.distinctions) >= len(found.distinctions)) {
			found = o
		}
	}
	return found
}

// in reports whether a statement contains all that distinguishes the request.
func (o *op) in(text string) bool {
	for _, d := range o.distinctions {
		if !strings.Contains(text, d) {
			return false
		}
	}
	return true
}

// shape is the kind of item write: insert, delete or update.
func shape(text string) byte {
	switch {
	case strings.HasPrefix(text, "PutItem "), strings.Contains(text, `"INSERT `):
		return 'i'
	case strings.HasPrefix(text, "DeleteItem "), strings.Contains(text, `"DELETE `):
		return 'd'
	}
	return 'u'
}

func shapeOf(k kind) byte {
	switch k {
	case create:
		return 'i'
	case releaseDelete:
		return 'd'
	}
	return 'u'
}

// result is what distinguishes the results of a history from each other,
// whatever their encoding.
var result = regexp.MustCompile(`result-[0-9]{8}`)

func resultOf(number int64) string { return fmt.Sprintf("result-%08d", number) }

// distinctions returns the parts of a request that reach the server as they
// are. Two requests with the same ones are the same request.
func distinctions(r request) []string {
	f, c := r.fence, r.change
	var all []string
	add := func(parts ...string) {
		for _, p := range parts {
			if p != "" {
				all = append(all, p)
			}
		}
	}
	if r.kind == create {
		add(r.record.Owner, milli(r.record), result.FindString(string(r.record.Data)))
		return all
	}
	add(f.Owner, c.Owner, milli(driver.Record{Lease: c.Lease}), result.FindString(string(c.Data)))
	for name := range c.Steps {
		add(name)
	}
	if r.kind == releaseRefund {
		add(" ADD ")
	}
	return all
}

func milli(r driver.Record) string {
	if r.Lease.IsZero() {
		return ""
	}
	return strconv.FormatInt(r.Lease.UnixMilli(), 10)
}
