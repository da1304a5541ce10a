package linearizability

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
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

// parse finds the writes that a request carries, by the names that only they contain.
func (w *Wire) parse(operation string, body []byte) *carried {
	c := &carried{}
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
		var first *history
		for _, id := range recordID.FindAllString(text, -1) {
			h := w.historyOf(id)
			if h != nil && !slices.Contains(c.histories, h) {
				c.histories = append(c.histories, h)
			}
			first = cmp.Or(first, h)
		}
		if first == nil || shape(text) == reading {
			continue
		}
		o := first.find(text)
		if o == nil {
			first.problem("a write that no caller made: %s", text)
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

// find returns the request of the history that a statement was made from: of
// those whose distinctions it contains the one with the most, and of equal
// ones the latest.
func (h *history) find(text string) *op {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found *op
	most := 0
	missing := func(part string) bool { return !strings.Contains(text, part) }
	for _, o := range h.requests {
		parts := distinctions(o.request)
		if o.shape() == shape(text) && len(parts) >= most && !slices.ContainsFunc(parts, missing) {
			found, most = o, len(parts)
		}
	}
	return found
}

// The kinds of statements and requests.
const (
	reading = iota
	inserting
	updating
	deleting
)

// shape returns the kind of a statement, or of a request of DynamoDB for one item.
func shape(text string) int {
	operation, _, _ := strings.Cut(text, " ")
	switch {
	case operation == "GetItem", operation == "BatchGetItem", strings.Contains(text, `"SELECT `):
		return reading
	case operation == "PutItem", strings.Contains(text, `"INSERT `):
		return inserting
	case operation == "DeleteItem", strings.Contains(text, `"DELETE `):
		return deleting
	}
	return updating
}

func (r request) shape() int {
	switch r.kind {
	case read:
		return reading
	case create:
		return inserting
	case releaseDelete:
		return deleting
	}
	return updating
}

// result matches the text that distinguishes the results of a history from each other,
// whatever their encoding. The other names of a history look alike.
var result = regexp.MustCompile(`result-[0-9]{8}`)

// distinctions returns the parts of a request that reach the server as they
// are. Two requests with the same ones are the same request.
func distinctions(q request) []string {
	r, f, c := q.record, q.fence, q.change
	all := []string{
		r.Owner, milli(r.Lease), result.FindString(string(r.Data)),
		f.Owner, c.Owner, milli(c.Lease), result.FindString(string(c.Data)),
	}
	if q.kind == releaseRefund {
		all = append(all, " ADD ")
	}
	all = slices.AppendSeq(all, maps.Keys(c.Steps))
	return slices.DeleteFunc(all, func(part string) bool { return part == "" })
}

func milli(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}
