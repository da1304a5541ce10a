package page

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sync"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

// asked keeps the records that forms were shown for: a write is conditional on the record
// that the person has seen, and not on what it is when the form comes.
type asked struct {
	mu    sync.Mutex
	names []string // the oldest first
	all   map[string]*question
}

type question struct {
	store  *store.Store
	record *record.Record
}

// maxAsked bounds the memory: a record has up to 400 KB in DynamoDB.
const maxAsked = 64

func (a *asked) add(q *question) (name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string]*question{}
	}
	if len(a.names) == maxAsked {
		delete(a.all, a.names[0])
		a.names = a.names[1:]
	}
	name = rand.Text()
	a.names, a.all[name] = append(a.names, name), q
	return name
}

// A dialog is the form of an action: its fields first, if it has any, and then the question.
type dialog struct {
	*action
	Record  *shown
	Shown   string // the name of the record as it was shown
	Form    url.Values
	Asks    bool // it shows what will be done, and its fields are decided
	What    string
	Against []record.Objection
}

func (d *dialog) Value(f field) string {
	if d.Form == nil && f.Kind != "checkbox" {
		return f.Value
	}
	return d.Form.Get(f.Name)
}

func (v *view) chosen() (*action, error) {
	i := slices.IndexFunc(actions, func(a *action) bool { return a.Name == v.Query.Get("do") })
	switch {
	case !v.Write:
		return nil, cli.Endf(cli.CodeDeclined, "this page only reads: start once ui with --write")
	case i < 0 || actions[i].isOffered != nil && !actions[i].isOffered(v.Page):
		return nil, cli.Endf(cli.CodeNoRecord, "there is no such action")
	}
	return actions[i], nil
}

func (p *Page) ask(ctx context.Context, _ *http.Request, v *view) error {
	a, err := v.chosen()
	if err != nil {
		return err
	}
	r, err := v.Store.Read(ctx, v.Query.Get("id"))
	if err != nil {
		return err
	}
	d := &dialog{action: a, Record: v.shown(r)}
	v.Title, v.Template, v.Body = a.Title, "record", d.Record
	if d.Against, err = a.May(r, v.Store.Now(), v.Skew); err != nil {
		return err
	}
	if d.Asks = len(a.Fields) == 0; d.Asks {
		w, err := a.Write(r, v.Store.Now(), v.Skew)
		if err != nil {
			return err
		}
		d.What = w.What
	}
	d.Shown = p.asked.add(&question{v.Store, r})
	v.Template, v.Body = "act", d
	return nil
}

// act takes the form of an action: it asks once more, or does what was confirmed.
func (p *Page) act(ctx context.Context, request *http.Request, v *view) error {
	v.Query = request.PostForm
	a, err := v.chosen()
	if err != nil {
		return err
	}
	q, w, err := p.decide(a, v)
	if q == nil || err != nil {
		return err
	}
	v.Title, v.Template = a.Title, "record"
	if a.run != nil {
		// The function takes up to 15 minutes, and not the time of a request to the store.
		now, err := v.Store.Read(ctx, q.record.ID)
		if err != nil || !reflect.DeepEqual(now.Record, q.record.Record) {
			v.Body = &shown{ID: q.record.ID, Unknown: true}
			return cmp.Or(err, cli.Endf(cli.CodeChanged, "the record has changed since it was shown; nothing was run"))
		}
		report, err := a.run(context.WithoutCancel(request.Context()), p, q.record.ID)
		if err != nil {
			v.Body = &shown{ID: q.record.ID, Unknown: true}
			return err
		}
		now, err = v.Store.Read(ctx, q.record.ID)
		if v.done(now, report); err != nil {
			v.Body = &shown{ID: q.record.ID, Unknown: true, Done: report}
		}
		return err
	}
	now, err := v.Store.Write(ctx, q.record, w.Change)
	if err != nil {
		w.Done = ""
	}
	v.done(now, w.Done)
	var end *cli.Ending
	if now == nil && err != nil && !(errors.As(err, &end) && end.Code == cli.CodeChanged) {
		v.Body = &shown{ID: q.record.ID, Unknown: true}
	}
	return err
}

// done shows what a record is now. It is gone without one.
func (v *view) done(now *record.Record, what string) {
	s := &shown{}
	if now != nil {
		s = v.shown(now)
	}
	s.Done, v.Body = what, s
}

// decide returns the question and the write that the person has confirmed. Otherwise the view
// asks for what is missing, and there is no question. A confirmed question is used up: who
// sends a form twice has it done once.
func (p *Page) decide(a *action, v *view) (*question, record.Write, error) {
	p.asked.mu.Lock()
	defer p.asked.mu.Unlock()
	name := v.Query.Get("shown")
	q := p.asked.all[name]
	if q == nil {
		return nil, record.Write{}, cli.Endf(cli.CodeChanged, "this form was sent before, which may have done it, or is too old: see what the record is now")
	}
	own := *q.store
	v.Store = &own
	now := own.Now()
	d := &dialog{action: a, Record: v.shown(q.record), Shown: name, Form: v.Query}
	v.Title, v.Template, v.Body = a.Title, "act", d
	var w record.Write
	var err error
	if d.Against, err = a.May(q.record, now, v.Skew); err != nil {
		v.Template, v.Body = "record", d.Record
		return nil, w, err
	}
	filled, err := a.of(v.Query)
	if err == nil {
		w, err = filled.Write(q.record, now, v.Skew)
	}
	if err != nil {
		return nil, w, err
	}
	isConfirmed := v.Query.Get("go") == "yes"
	if d.Asks, d.What = true, w.What; isConfirmed && len(d.Against) > 0 && v.Query.Get("force") != "yes" {
		return nil, w, cli.Endf(cli.CodeRefused, "%s; nothing was written", d.Against[0].Reason)
	}
	if !isConfirmed {
		return nil, w, nil
	}
	delete(p.asked.all, name)
	p.asked.names = slices.DeleteFunc(p.asked.names, func(other string) bool { return other == name })
	return q, w, nil
}
