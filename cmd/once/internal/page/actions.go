package page

import (
	"context"
	"flag"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
)

// An action is one that a person may choose for a record. A new one is one more entry of actions.
type action struct {
	Name, Title, About string
	Fields             []field
	isOffered          func(*Page) bool // nil: always, with Write
	// Action has the guards. If the form has no fields, it is also the one that is carried out;
	// otherwise fill makes that one.
	record.Action
	fill func(form url.Values) (record.Action, error)
	run  func(ctx context.Context, p *Page, id string) (string, error)
}

func (a *action) of(form url.Values) (record.Action, error) {
	if a.fill == nil {
		return a.Action, nil
	}
	return a.fill(form)
}

// A field is one of a form. Its Kind is that of an input, or "lines".
type field struct{ Name, Label, Kind, Value, Hint string }

var (
	retention = field{"retention", "Retention", "text", "", "such as 7d, without it 24h; never shorter than the record's own, and required for one that never expires"}
	by        = field{"by", "By", "text", "", "who does it: stored and shown, and no proof"}
	reason    = field{"reason", "Reason", "text", "", "why: stored and shown; no personal data"}
)

var remove = record.Release(true)

var actions = []*action{
	{Name: "release", Title: "Release", About: "The next call runs it again.", Action: new(record.Release)},
	{
		Name: "complete", Title: "Resolve as completed", About: "The work was done: all calls get this result.",
		Fields: []field{{"data", "Result", "lines", "", "JSON of the type that the function returns"},
			{"none", "No result", "checkbox", "yes", "calls get the zero value of their type"}, retention, by, reason},
		Action: &record.Resolution{Kind: record.Result},
		fill: resolve(func(o *record.Resolution, form url.Values) error {
			switch data, none := lines(form, "data"), form.Get("none") != ""; {
			case none == (data != ""):
				return cli.Endf(cli.CodeUsage, "give a result, or tick that there is none: all calls get what is stored")
			case none:
				o.WithoutResult()
				return nil
			default:
				return o.WithResult([]byte(data))
			}
		}),
	},
	{
		Name: "respond", Title: "Resolve with a response", About: "Callers of package httpapi get this response.",
		Fields: []field{{"status", "Status", "number", "", "of the response, such as 201"}, {"headers", "Headers", "lines", "", "name: value, one a line"},
			{"body", "Body", "lines", "", ""}, retention, by, reason},
		Action: &record.Resolution{Kind: record.Response},
		fill: resolve(func(o *record.Resolution, form url.Values) error {
			headers := http.Header{}
			for line := range strings.Lines(form.Get("headers")) {
				name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
				if !ok && name != "" {
					return cli.Endf(cli.CodeUsage, "a header is not name: value")
				} else if ok {
					headers.Add(name, strings.TrimSpace(value))
				}
			}
			status, err := strconv.Atoi(form.Get("status"))
			if err != nil {
				return cli.Endf(cli.CodeUsage, "the status is no number")
			}
			return o.WithResponse(status, headers, []byte(lines(form, "body")))
		}),
	},
	{
		Name: "fail", Title: "Resolve as failed", About: "The work was not done, and will not be: all calls get this error.",
		Fields: []field{{"message", "Message", "text", "", "of the error"}, {"type", "Type", "text", "OperatorError", "of the error, on which Step Functions match"},
			{"code", "Code", "text", "", "of the error"}, retention, by, reason},
		Action: &record.Resolution{Kind: record.Failure},
		fill: resolve(func(o *record.Resolution, form url.Values) error {
			if form.Get("message") == "" || form.Get("type") == "" {
				return cli.Endf(cli.CodeUsage, "the message or the type of the error is empty")
			}
			return o.WithFailure(form.Get("type"), form.Get("message"), form.Get("code"))
		}),
	},
	{
		Name: "resume", Title: "Resume", About: "A function runs its stored request, and this page waits for it.", Action: new(record.Resumption),
		isOffered: func(p *Page) bool { return p.Resume != nil },
		run:       func(ctx context.Context, p *Page, id string) (string, error) { return p.Resume(ctx, id) },
	},
	{
		Name: "redact", Title: "Redact", About: "What is stored about a person is removed: calls run nothing, and get no result.",
		Fields: []field{by, reason}, Action: new(record.Redaction),
		fill: func(form url.Values) (record.Action, error) {
			return &record.Redaction{Statement: statement(form)}, nil
		},
	},
	{Name: "delete", Title: "Delete", About: "The item is removed, with its attempts, steps and result: the next call runs as the first one.", Action: &remove},
}

func statement(form url.Values) record.Statement {
	return record.Statement{By: form.Get("by"), Reason: form.Get("reason")}
}

func resolve(with func(*record.Resolution, url.Values) error) func(url.Values) (record.Action, error) {
	return func(form url.Values) (record.Action, error) {
		o := &record.Resolution{Statement: statement(form)}
		set := flag.NewFlagSet("", flag.ContinueOnError)
		cli.DurationVar(set, &o.Retention, "retention", 24*time.Hour, "")
		if text := strings.TrimSpace(form.Get("retention")); text != "" {
			o.Stated = true
			if err := set.Set("retention", text); err != nil || o.Retention < time.Second {
				return nil, cli.Endf(cli.CodeUsage, "the retention is not a duration such as 15m, 36h or 7d")
			}
		}
		return o, with(o, form)
	}
}

// lines returns a text as it was typed: browsers send each end of a line as two characters.
func lines(form url.Values, name string) string {
	return strings.ReplaceAll(form.Get(name), "\r\n", "\n")
}
