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
	mu  sync.Mutex
	all []*question // the oldest first
}

type question struct {
	name   string
	store  *store.Store
	record *record.Record
}

// maxAsked bounds the memory: a record has up to 400 KB in DynamoDB.
const maxAsked = 64

func (a *asked) add(s *store.Store, r *record.Record) (name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := &question{rand.Text(), s, r}
	a.all = append(a.all[max(len(a.all)+1-maxAsked, 0):], q)
	return q.name
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
	d.Shown = p.asked.add(v.Store, r)
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
	v.Body = &shown{ID: q.record.ID, Unknown: true}
	if a.run == nil {
		now, err := v.Store.Write(ctx, q.record, w.Change)
		var end *cli.Ending
		switch {
		case err == nil, now != nil, errors.As(err, &end) && end.Code == cli.CodeChanged:
			s := &shown{} // it is gone
			if now != nil {
				s = v.shown(now)
			}
			if v.Body = s; err == nil {
				s.Done = w.Done
			}
		}
		return err
	}
	// The function takes up to 15 minutes, and not the time of a request to the store.
	now, err := v.Store.Read(ctx, q.record.ID)
	if err != nil || !reflect.DeepEqual(now.Record, q.record.Record) {
		return cmp.Or(err, cli.Endf(cli.CodeChanged, "the record has changed since it was shown; nothing was run"))
	}
	report, err := a.run(context.WithoutCancel(request.Context()), p, q.record.ID)
	if err != nil {
		return err
	}
	if now, err = v.Store.Read(ctx, q.record.ID); err == nil {
		v.Body = v.shown(now)
	}
	v.Body.(*shown).Done = report
	return err
}

// decide returns the question and the write that the person has confirmed. Otherwise the view
// asks for what is missing, and there is no question. A confirmed question is used up: who
// sends a form twice has it done once.
func (p *Page) decide(a *action, v *view) (*question, record.Write, error) {
	p.asked.mu.Lock()
	defer p.asked.mu.Unlock()
	i := slices.IndexFunc(p.asked.all, func(q *question) bool { return q.name == v.Query.Get("shown") })
	if i < 0 {
		return nil, record.Write{}, cli.Endf(cli.CodeChanged, "this form was sent before, which may have done it, or is too old: see what the record is now")
	}
	q := p.asked.all[i]
	own := *q.store
	v.Store = &own
	now := own.Now()
	d := &dialog{action: a, Record: v.shown(q.record), Shown: q.name, Form: v.Query}
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
	p.asked.all = slices.Delete(p.asked.all, i, i+1)
	return q, w, nil
}
