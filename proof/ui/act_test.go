package ui

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// Each action is done by a person who reads, clicks and types, on each store.
func TestActionsDoWhatTheCommandsDo(t *testing.T) {
	onStores(t, func(s *scene) {
		b := s.open(s.start("--write"))
		for _, id := range []string{"pay#release", "pay#none", "pay#result", "pay#fail", "pay#respond", "pay#delete"} {
			s.claim(id, -time.Hour)
		}
		s.claim("pay#live", time.Hour)

		b.goes(b.record("pay#release"))
		b.sees("lapsed")
		b.clicks("Release")
		b.sees("It will be released: one attempt is given back, and 0 still count")
		b.clicks("Release")
		b.sees("ended by a release")
		r := s.get("pay#release")
		check.Equal(s, r.Owner, "")
		check.Equal(s, r.Refunds, 1)

		b.goes(b.record("pay#none"))
		b.clicks("Resolve as completed")
		check.Equal(s, b.clicks("Continue"), http.StatusBadRequest, "neither a result nor none")
		b.do(chromedp.Click(`//input[@name="none"]`))
		b.clicks("Continue")
		b.sees("without a result: all calls get the zero value")
		b.clicks("Resolve as completed")
		b.sees("COMPLETED")
		check.Equal(s, string(s.get("pay#none").Data), "null")

		b.goes(b.record("pay#result"))
		b.clicks("Resolve as completed")
		b.types("data", `{"id":"p-7"}`)
		b.types("by", "ann")
		b.types("reason", "the bank says so")
		b.clicks("Continue")
		b.sees("all calls get this result (text of 12 bytes")
		b.clicks("Resolve as completed")
		b.sees("by ann: the bank says so")
		r = s.get("pay#result")
		check.Equal(s, string(r.Data), `{"id":"p-7"}`)
		check.Equal(s, r.Status, driver.Completed)
		check.Equal(s, r.Ended.By, "ann")

		b.goes(b.record("pay#fail"))
		b.clicks("Resolve as failed")
		b.types("message", "the account is closed")
		b.types("code", "07")
		b.clicks("Continue")
		b.sees("all calls get this error")
		b.clicks("Resolve as failed")
		b.sees("OperatorError (code 07)")
		check.Equal(s, s.get("pay#fail").Status, driver.Failed)

		b.goes(b.record("pay#respond"))
		b.clicks("Resolve with a response")
		b.types("status", "201")
		b.types("headers", "Location: /orders/7")
		b.types("body", `{"id":7}`)
		b.clicks("Continue")
		b.sees("get this response (status 201")
		b.clicks("Resolve with a response")
		b.sees("COMPLETED")
		check.Contains(s, string(s.get("pay#respond").Data), "/orders/7")

		b.goes(b.record("pay#delete"))
		b.clicks("Delete")
		b.clicks("Delete")
		b.sees("It is gone.")
		check.Equal(s, s.get("pay#delete").Status, driver.Absent)

		// What speaks against it has to be ticked.
		b.goes(b.record("pay#live"))
		b.clicks("Release")
		b.sees("a call runs it until")
		check.Equal(s, b.clicks("Release"), http.StatusConflict)
		b.sees("nothing was written")
		check.Equal(s, s.get("pay#live").Owner, "owner of pay#live")
		b.do(chromedp.Click(`//input[@name="force"]`))
		b.clicks("Release")
		b.sees("ended by a release")
		check.Equal(s, s.get("pay#live").Owner, "")

		// What is finished stays.
		b.goes(b.record("pay#result"))
		check.Equal(s, b.clicks("Release"), http.StatusConflict)
		b.sees("the record is finished")

		b.goes(b.record("pay#result"))
		b.clicks("Redact")
		b.types("by", "eve")
		b.clicks("Continue")
		b.sees("It will be redacted")
		b.clicks("Redact")
		b.sees("by eve")
		check.Equal(s, s.get("pay#result").Unavailable, driver.Redacted)
	})
}

func TestResumeIsOfferedWithAFunction(t *testing.T) {
	s := onRedis(t)
	left := driver.Record{ID: "pay#left", Status: driver.InProgress, Owner: "gone", Attempt: 1, Lease: time.Now().Add(-time.Hour), Expires: time.Now().Add(time.Hour), Request: []byte("=1")}
	_, ok, err := s.records.Create(t.Context(), left, time.Time{}, nil)
	check.Must(t, err)
	check.True(t, ok)
	lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event handlers.ResumeEvent
		body, err := io.ReadAll(r.Body)
		check.Nil(t, err)
		check.Nil(t, json.Unmarshal(body, &event))
		check.Slice(t, event.IDs, []string{"pay#left"})
		s.change(left, driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: time.Now().Add(time.Hour)})
		check.Nil(t, json.NewEncoder(w).Encode(handlers.ResumeReport{Operation: "pay", Resumed: 1}))
	}))
	defer lambda.Close()
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", lambda.URL)
	without := s.open(s.start("--write"))
	without.goes(without.record("pay#left"))
	check.Lacks(t, without.sees("Release"), "A function runs")
	b := s.open(s.start("--write", "--function", "pay-resume"))
	b.goes(b.record("pay#left"))
	b.clicks("Resume")
	b.sees("The function will run its stored request")
	b.clicks("Resume")
	b.sees("pay: 1 resumed, 0 failed")
	b.sees("Calls get the stored result")
}
