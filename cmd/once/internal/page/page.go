// Package page shows the records to a person with a browser on the same machine, with the
// actions of the commands.
package page

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
	"github.com/lambda-once/once/cmd/once/internal/store"
)

type Config struct {
	Store *store.Store
	Waits *store.Waits
	Skew  time.Duration
	Write bool // what is stored
	Data  bool // is shown: results may be personal data
	// Resume has a function run the stored request of a record, and returns its report.
	// It is nil without a function.
	Resume func(ctx context.Context, id string) (string, error)
}

// A Page serves one session. Its requests share nothing but the clients of the store, and
// which records a function runs for one of them.
type Page struct {
	Config
	*session
	resuming sync.Map // the ids of these records
	mux      *http.ServeMux
}

func New(c Config, host string) *Page {
	p := &Page{Config: c, session: newSession(host), mux: http.NewServeMux()}
	p.mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, files, "style.css")
	})
	for pattern, h := range map[string]handler{
		"GET /{$}": p.operations, "GET /records": p.list, "POST /find": p.find, "GET /record": p.record,
		"GET /act": p.act, "POST /act": p.act, "/": func(context.Context, *http.Request, *view) error {
			return cli.Endf(cli.CodeNoRecord, "there is no such page")
		},
	} {
		p.mux.HandleFunc(pattern, p.serve(h))
	}
	return p
}

func (p *Page) Start() string { return "http://" + p.host + "/?token=" + p.token }

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.guard(p.mux).ServeHTTP(w, r) }

// A handler fills a view. A view without a template leads elsewhere.
type handler func(ctx context.Context, r *http.Request, v *view) error

type view struct {
	*Page
	Store     *store.Store // of this request, as it has the time of its server
	Title     string
	Template  string
	Error     string
	Query     url.Values
	Elsewhere string
	path      string
	status    int
	waits     *store.Waits
	Every     int // after how many seconds a live page is read again
	Scan      *scanned
	Body      any
}

// maxRequests is the budget of a page, besides the time of one request: a scan ends there, and
// a link continues it.
const maxRequests = 200

// serve has each request use a store and waits of its own: the store notes the time of the server,
// and a server that is silent now may answer the next request. A confirmed action is carried
// out to its end, even if the browser goes away.
func (p *Page) serve(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		own := *p.Config.Store
		v := &view{Page: p, Store: &own, Query: r.URL.Query(), path: r.URL.Path}
		ctx, most := r.Context(), maxRequests
		if r.URL.Path == "/act" {
			ctx, most = context.WithoutCancel(ctx), 0
		}
		ctx, v.waits = p.Waits.Own(ctx, most, p.Waits.Timeout)
		if err := h(ctx, r, v); err != nil {
			v.fail(err)
		}
		if v.Elsewhere != "" && v.Error == "" {
			w.Header().Set("Location", v.Elsewhere)
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		var text bytes.Buffer
		if err := templates.ExecuteTemplate(&text, "page.html", v); err != nil {
			http.Error(w, "The page cannot be shown.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(cmp.Or(v.status, http.StatusOK))
		_, _ = text.WriteTo(w) // to a browser that may be gone
	}
}

// fail shows an error. Its text is that of a command, and so without keys and results.
func (v *view) fail(err error) {
	v.Error = err.Error()
	var end *cli.Ending
	var silent *store.SilentError
	switch {
	case errors.As(err, &silent):
		v.status = http.StatusGatewayTimeout
	case errors.As(err, &end):
		v.status = map[int]int{
			cli.CodeUsage: http.StatusBadRequest, cli.CodeNoRecord: http.StatusNotFound,
			cli.CodeChanged: http.StatusConflict, cli.CodeRefused: http.StatusConflict, cli.CodeDeclined: http.StatusForbidden,
		}[end.Code]
	}
	v.status = cmp.Or(v.status, http.StatusBadGateway)
	if v.Template == "" {
		v.Title = "It did not work"
	}
}

func (v *view) live(seconds int) {
	if v.Query.Has("live") {
		v.Every = seconds
	}
}

func (v *view) Sent() string { return v.cost(1) }

func (v *view) Rate() string { return v.cost(60 / float64(v.Every)) }

func (v *view) cost(times float64) string {
	n, _ := v.waits.Sent()
	text := fmt.Sprintf("requests %.0f", float64(n)*times)
	if v.Scan != nil && v.Scan.Units > 0 {
		text += fmt.Sprintf(", read units %.1f", v.Scan.Units*times)
	}
	return text
}

// With returns the address, relative as all here, of this page with a parameter changed, or without it.
func (v *view) With(name, value string) string {
	q := maps.Clone(v.Query)
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return "." + v.path + "?" + q.Encode()
}

func (v *view) Form() string { return v.form }

func (v *view) before(r *record.Record) time.Time { return r.At.Add(-v.Skew) }

//go:embed *.html style.css
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"printable": func(s any) string { return cli.Printable(fmt.Sprint(s)) },
	"stamp":     cli.Stamp,
	"relative":  cli.Relative,
	"link": func(path string, parameters ...string) string {
		q := url.Values{}
		for i := 0; i < len(parameters); i += 2 {
			q.Set(parameters[i], parameters[i+1])
		}
		return path + "?" + q.Encode()
	},
}).ParseFS(files, "*.html"))
