package page

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

const host = "127.0.0.1:4711"

// scene is a page on a store in memory, and a browser that may have opened its session.
type scene struct {
	*testing.T
	records *memory.Store
	page    *Page
	cookie  *http.Cookie
}

func newScene(t *testing.T, c Config) *scene {
	t.Helper()
	s := &scene{T: t, records: memory.New(0)}
	c.Store, c.Waits, c.Skew = &store.Store{Operable: s.records, Place: "memory"}, &store.Waits{Timeout: time.Minute, To: io.Discard}, time.Second
	s.page = New(c, host)
	opened := s.send(s.request("GET", s.page.Start(), nil), nil)
	check.Equal(t, opened.Code, http.StatusSeeOther)
	check.Equal(t, opened.Header().Get("Location"), s.page.base+"/", "the token stays in the address")
	cookies := opened.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatal(cookies)
	}
	s.cookie = cookies[0]
	return s
}

// claim writes a record with its request, so that it can be resumed.
func (s *scene) claim(id string, lease time.Duration) driver.Record {
	s.Helper()
	r := driver.Record{ID: id, Status: driver.InProgress, Owner: "owner", Attempt: 1, Fingerprint: "f1", Request: []byte("=1"),
		Lease: time.Now().Add(lease), Expires: time.Now().Add(24 * time.Hour)}
	_, ok, err := s.records.Create(s.Context(), r, time.Time{}, nil)
	check.Must(s, err)
	check.True(s, ok)
	return r
}

func (s *scene) request(method, target string, form url.Values) *http.Request {
	if strings.HasPrefix(target, "/") {
		target = s.page.base + target
	}
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Host = host
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+host)
	}
	return r
}

func (s *scene) send(r *http.Request, cookie *http.Cookie) *httptest.ResponseRecorder {
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	s.page.ServeHTTP(w, r)
	return w
}

// get returns a page of the session.
func (s *scene) get(status int, target string) string {
	s.Helper()
	w := s.send(s.request("GET", target, nil), s.cookie)
	check.Equal(s, w.Code, status, target, w.Body)
	return w.Body.String()
}

// post sends a form of the session.
func (s *scene) post(status int, target string, form url.Values) string {
	s.Helper()
	form.Set("form", s.page.form)
	w := s.send(s.request("POST", target, form), s.cookie)
	check.Equal(s, w.Code, status, target, w.Body)
	return w.Body.String()
}

var hidden = regexp.MustCompile(`name="shown" value="(\w+)"`)

// asks returns the form of an action.
func (s *scene) asks(action, id string) url.Values {
	s.Helper()
	out := s.get(http.StatusOK, "/act?"+url.Values{"do": {action}, "id": {id}}.Encode())
	found := hidden.FindStringSubmatch(out)
	if found == nil {
		s.Fatal(out)
	}
	return url.Values{"do": {action}, "id": {id}, "shown": found[1:]}
}

func TestAlarmLeadsToItsRecords(t *testing.T) {
	s := newScene(t, Config{})
	check.Contains(t, s.get(http.StatusOK, "/"), `href="records?attempt=2&amp;since=24h"`)
}

// What a function did is not known if its answer is lost: the page says so, and leads to the record.
func TestResumeThatFailsIsTold(t *testing.T) {
	s := newScene(t, Config{Write: true, Resume: func(context.Context, string) (string, error) { return "", errors.New("no answer arrived") }})
	s.claim("pay#1", -time.Hour)
	out := s.post(http.StatusBadGateway, "/act", with(s.asks("resume", "pay#1"), "go", "yes"))
	check.Contains(t, out, "no answer arrived")
	check.Contains(t, out, "See what it is now")
}
