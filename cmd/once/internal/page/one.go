package page

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/record"
)

type shown struct {
	ID      string
	Unknown bool // what it is now
	State   record.State
	Now     time.Time
	Life    []record.Event
	Detail  string // as once inspect prints it
	Result  string
	Advice  []string
	Done    string // what the person has done, of a form before this page
	Actions []*action
}

func (v *view) shown(r *record.Record) *shown {
	now := v.Store.Now()
	before := now.Add(-v.Skew)
	s := &shown{ID: r.ID, Now: now, State: r.StateAt(before), Life: r.Life(now, before)}
	s.Advice = strings.Split(r.Advice(s.State), "\n")
	var detail bytes.Buffer
	r.Print(&detail, now, before)
	s.Detail = detail.String()
	if v.Data {
		s.Result = r.Result()
	}
	if !v.Write {
		return s
	}
	for _, a := range actions {
		if a.isOffered == nil || a.isOffered(v.Page) {
			s.Actions = append(s.Actions, a)
		}
	}
	return s
}

func (p *Page) record(ctx context.Context, r *http.Request, v *view) error {
	v.live(readEvery)
	found, err := v.Store.Read(ctx, v.Query.Get("id"))
	if err != nil {
		return err
	}
	s := v.shown(found)
	v.Title, v.Template, v.Body = "Record", "record", s
	return nil
}
