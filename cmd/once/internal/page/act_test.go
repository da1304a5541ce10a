package page

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func (s *scene) change(r driver.Record, c driver.Change) {
	s.Helper()
	_, ok, err := s.records.Change(s.Context(), driver.Fence{ID: r.ID, Owner: r.Owner}, c)
	check.Must(s, err)
	check.True(s, ok)
}

func with(form url.Values, more ...string) url.Values {
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

// The guards of the commands hold, and --force is a tick where something speaks against it.
func TestObjectionHasToBeTicked(t *testing.T) {
	for _, action := range []string{"release", "delete", "complete", "respond", "fail"} {
		t.Run(action, func(t *testing.T) {
			s := newScene(t, Config{Write: true})
			s.claim("pay#1", time.Hour)
			form := with(s.asks(action, "pay#1"), "none", "yes", "message", "no", "type", "E", "status", "201", "go", "yes")
			out := s.post(http.StatusConflict, "/act", form)
			check.Contains(t, out, "a call runs it until")
			check.Contains(t, out, `name="force"`)
			got, err := s.records.Get(t.Context(), "pay#1")
			check.Must(t, err)
			check.Equal(t, got.Owner, "owner")
			s.post(http.StatusOK, "/act", with(form, "force", "yes"))
			got, err = s.records.Get(t.Context(), "pay#1")
			check.Must(t, err)
			check.Differ(t, got.Owner, "owner")
		})
	}
	s := newScene(t, Config{Write: true})
	s.claim("pay#1", -time.Hour)
	check.Lacks(t, s.get(http.StatusOK, "/act?do=release&id=pay%231"), `name="force"`)
}

// What is written depends on the record that the person has seen.
func TestRecordThatHasChangedSinceItWasShownIsNotWritten(t *testing.T) {
	s := newScene(t, Config{Write: true})
	r := s.claim("pay#1", -time.Hour)
	form := s.asks("release", "pay#1")
	s.change(r, driver.Change{Lease: time.Now().Add(time.Hour), Expires: r.Expires})
	out := s.post(http.StatusConflict, "/act", with(form, "go", "yes"))
	check.Contains(t, out, "has changed since it was shown; nothing was written")
	check.Contains(t, out, ">running<")
	got, err := s.records.Get(t.Context(), "pay#1")
	check.Must(t, err)
	check.Equal(t, got.Owner, "owner")
}

// A second click, and a page that is loaded again, send the same form.
func TestFormIsDoneOnce(t *testing.T) {
	s := newScene(t, Config{Write: true})
	s.claim("pay#1", -time.Hour)
	form := with(s.asks("release", "pay#1"), "go", "yes", "form", s.page.form)
	var clicks sync.WaitGroup
	for range 8 {
		clicks.Go(func() { s.send(s.request("POST", "/act", form), s.cookie) })
	}
	clicks.Wait()
	got, err := s.records.Get(t.Context(), "pay#1")
	check.Must(t, err)
	check.Equal(t, got.Refunds, 1, "attempts given back")
	check.Contains(t, s.post(http.StatusConflict, "/act", form), "has changed since it was shown")
}

// A browser sends requests at the same time, and so do two of its windows.
func TestPagesAreServedAtTheSameTime(t *testing.T) {
	s := newScene(t, Config{Write: true, Data: true})
	s.claim("pay#1", -time.Hour)
	form := with(s.asks("fail", "pay#1"), "message", "no", "type", "E", "form", s.page.form)
	var all sync.WaitGroup
	for range 4 {
		for _, target := range []string{"/", "/records", "/record?id=pay%231", "/act?do=release&id=pay%231"} {
			all.Go(func() { check.Equal(t, s.send(s.request("GET", target, nil), s.cookie).Code, http.StatusOK, target) })
		}
		all.Go(func() { check.Equal(t, s.send(s.request("POST", "/act", form), s.cookie).Code, http.StatusOK) })
	}
	all.Wait()
}

func TestResultIsShownOnlyWithData(t *testing.T) {
	for _, data := range []bool{true, false} {
		s := newScene(t, Config{Write: true, Data: data})
		r := s.claim("pay#1", time.Hour)
		s.change(r, driver.Change{Status: driver.Completed, Data: []byte(`"Ada"`), Expires: r.Expires})
		for _, target := range []string{"/record?id=pay%231", "/act?do=delete&id=pay%231"} {
			out := s.get(http.StatusOK, target)
			shows := data && target[:4] == "/rec"
			if shows {
				check.Contains(t, out, "Ada", target)
			} else {
				check.Lacks(t, out, "Ada", target)
			}
		}
	}
}

func TestResumeNeedsAFunction(t *testing.T) {
	resumed := ""
	for _, f := range []func(context.Context, string) (string, error){nil, func(_ context.Context, id string) (string, error) { resumed = id; return "1 resumed", nil }} {
		s := newScene(t, Config{Write: true, Resume: f})
		s.claim("pay#1", -time.Hour)
		if f == nil {
			s.get(http.StatusNotFound, "/act?do=resume&id=pay%231")
			continue
		}
		check.Contains(t, s.post(http.StatusOK, "/act", with(s.asks("resume", "pay#1"), "go", "yes")), "1 resumed")
		check.Equal(t, resumed, "pay#1")
	}
}

func TestMistakesAreNamed(t *testing.T) {
	s := newScene(t, Config{Write: true})
	s.claim("pay#1", -time.Hour)
	for target, says := range map[string]string{
		"/records?since=soon": "since: it is no time", "/records?state=x": "it is none of [completed", "/records?attempt=x": "attempt: ",
		"/records?error=E&state=completed": "only a failed record", "/?after=?": "no such position",
	} {
		check.Contains(t, s.get(http.StatusBadRequest, target), says, target)
	}
	check.Contains(t, s.get(http.StatusNotFound, "/record?id=none"), "no record none in memory")
	s.get(http.StatusNotFound, "/act?do=sell&id=pay%231")
	check.Contains(t, s.post(http.StatusNotFound, "/find", url.Values{"key": {"order-1"}}), "no record order-1 in memory; if it is an idempotency key, give its --operation")
	for says, form := range map[string]url.Values{
		"--scope needs":           {"key": {"order-1"}, "scope": {"ada"}},
		"there is no such positi": {"key": {"pay#1"}, "after": {"?"}},
	} {
		check.Contains(t, s.post(http.StatusBadRequest, "/find", form), says)
	}
	for says, more := range map[string][]string{
		"tick that there is none":     {"do", "complete"},
		"is not JSON":                 {"do", "complete", "data", "x"},
		"the retention is not":        {"do", "complete", "none", "yes", "retention", "soon"},
		"type of the error is empty":  {"do", "fail", "type", "E"},
		"give a result, or tick that": {"do", "complete", "data", "1", "none", "yes"},
	} {
		check.Contains(t, s.post(http.StatusBadRequest, "/act", with(s.asks("complete", "pay#1"), more...)), says)
	}
}

// The function may have finished, and left the record for the next attempt, before the second
// click arrives.
func TestSecondClickDoesNotResumeAgain(t *testing.T) {
	var calls atomic.Int32
	begun, end := make(chan bool, 2), make(chan bool)
	s := newScene(t, Config{Write: true, Resume: func(context.Context, string) (string, error) {
		calls.Add(1)
		begun <- true
		<-end
		return "1 failed", nil
	}})
	s.claim("pay#1", -time.Hour)
	form := with(s.asks("resume", "pay#1"), "go", "yes", "form", s.page.form)
	var first sync.WaitGroup
	first.Go(func() { check.Equal(t, s.send(s.request("POST", "/act", form), s.cookie).Code, http.StatusOK) })
	<-begun
	done := make(chan int)
	go func() { done <- s.send(s.request("POST", "/act", form), s.cookie).Code }()
	select {
	case code := <-done:
		check.Equal(t, code, http.StatusConflict)
	case <-begun:
		t.Error("a second click has the function run it again")
	}
	close(end)
	first.Wait()
	check.Equal(t, calls.Load(), 1)
}
