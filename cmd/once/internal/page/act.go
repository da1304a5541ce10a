package page

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
)

// A dialog is the form of an action: its fields first, if it has any, and then the question.
type dialog struct {
	*action
	Record  *shown
	Shown   string // the version of the record that the person sees
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

// act shows the form of an action, asks once more, and carries out the confirmed form. A form
// names the version of the record that the person has seen, so a form that is sent twice or
// late does nothing: the record has changed. While a function runs, its record may still be
// unchanged, so a second form is refused until the function has ended.
func (p *Page) act(ctx context.Context, request *http.Request, v *view) error {
	isForm := request.Method == http.MethodPost
	if isForm {
		v.Query = request.PostForm
	}
	a, err := v.chosen()
	if err != nil {
		return err
	}
	id := v.Query.Get("id")
	if isForm && a.run != nil {
		if _, runs := p.resuming.LoadOrStore(id, true); runs {
			return cli.Endf(cli.CodeChanged, "the function runs it for a form that was sent before")
		}
		defer p.resuming.Delete(id)
	}
	r, err := v.Store.Read(ctx, id)
	if err != nil {
		return err
	}
	d := &dialog{action: a, Record: v.shown(r), Shown: r.Version()}
	v.Title, v.Template, v.Body = a.Title, "record", d.Record
	if isForm && d.Shown != v.Query.Get("shown") {
		return cli.Endf(cli.CodeChanged, "the record has changed since it was shown; nothing was written")
	}
	if d.Against, err = a.May(r, v.Store.Now(), v.Skew); err != nil {
		return err
	}
	v.Template, v.Body = "act", d
	if !isForm && len(a.Fields) > 0 {
		return nil
	}
	d.Form = v.Query
	filled, err := a.of(v.Query)
	if err != nil {
		return err
	}
	w, err := filled.Write(r, v.Store.Now(), v.Skew)
	if err != nil {
		return err
	}
	d.Asks, d.What = true, w.What
	switch {
	case !isForm || v.Query.Get("go") != "yes":
		return nil
	case len(d.Against) > 0 && v.Query.Get("force") != "yes":
		return cli.Endf(cli.CodeRefused, "%s; nothing was written", d.Against[0].Reason)
	}
	v.Template, v.Body = "record", &shown{ID: r.ID, Unknown: true}
	if a.run != nil {
		return p.run(ctx, request, v, a, r.ID)
	}
	now, err := v.Store.Write(ctx, r, w.Change)
	var end *cli.Ending
	if err == nil || now != nil || errors.As(err, &end) && end.Code == cli.CodeChanged {
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

// run has a function finish the record. It takes up to 15 minutes, and not the time of a
// request to the store.
func (p *Page) run(ctx context.Context, request *http.Request, v *view, a *action, id string) error {
	report, err := a.run(context.WithoutCancel(request.Context()), p, id)
	if err != nil {
		return err
	}
	now, err := v.Store.Read(ctx, id)
	if err == nil {
		v.Body = v.shown(now)
	}
	v.Body.(*shown).Done = report
	return err
}
