package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// Every form that an operator can store is a response to the callers of package
// httpapi, and each replaces the one before it.
func TestResolvedRequestIsAnswered(t *testing.T) {
	onStores(t, func(s *storeScene) {
		x, err := idempotent.New("pay", s.records, &idempotent.Config{MaxAttempts: 1})
		check.Must(s, err)
		api := httpapi.Middleware(x, httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}))
		send := func() *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(s.Context(), http.MethodPost, "/charges", strings.NewReader(`{"amount":1}`))
			r.Header.Set("Idempotency-Key", "k")
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			return w
		}
		for _, status := range []int{http.StatusBadGateway, http.StatusInternalServerError} {
			if got := send().Code; got != status {
				s.Fatalf("a key without attempts: %d, want %d", got, status)
			}
		}
		for _, c := range []struct {
			input     string
			flags     []string
			status    int
			kind, has string
		}{
			{`{"id":"ch_1"}`, []string{"--completed", "--data", "-"}, 200, "application/json", `{"id":"ch_1"}`},
			{``, []string{"--completed", "--no-result"}, 204, "", ""},
			{`{"id":"ch_1"}`, []string{"--http", "201", "--body", "-", "--header", "X-Charge: ch_1"}, 201, "application/json", `{"id":"ch_1"}`},
			{``, []string{"--failed", "no"}, 500, "application/problem+json", "status"},
			{"\xff", []string{"--completed", "--http", "402", "--body", "-", "--header", "Content-Type: x/y"}, 402, "x/y", "\xff"},
			{`{"status":201,"body":"a"}`, []string{"--completed", "--data", "-"}, 201, "", "a"},
			{`{"status":201,"id":"a"}`, []string{"--completed", "--data", "-"}, 200, "application/json", `{"status":201,"id":"a"}`},
			{`"a"`, []string{"--completed", "--data", "-"}, 200, "application/json", `"a"`},
			{`no`, []string{"--http", "409", "--body", "-"}, 409, "text/plain; charset=utf-8", "no"},
		} {
			args := append([]string{"resolve", "k", "--operation", "pay", "--retention", "24h", "--yes"}, c.flags...)
			if r := s.typing(c.input, s.with(args...)...); r.code != 0 {
				s.Fatalf("%q: exit %d\n%s", c.flags, r.code, r.err)
			}
			got := send()
			if header := got.Header(); got.Code != c.status || header.Get("Content-Type") != c.kind || !strings.Contains(got.Body.String(), c.has) {
				s.Errorf("%q: %d %v %s", c.flags, got.Code, header, got.Body)
			}
			if c.status != 500 && got.Header().Get("Idempotent-Replayed") != "true" {
				s.Errorf("%q: the response does not say that it is a replay", c.flags)
			}
			if charge := got.Header().Get("X-Charge"); (charge == "ch_1") != slices.Contains(c.flags, "X-Charge: ch_1") {
				s.Errorf("%q: the header is %q", c.flags, charge)
			}
		}
	})
}

// A response would be the zero value of another type. The record's callers say so, and
// the operator can correct it.
func TestResponseIsNoResultOfOtherCallers(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("pay#1", -time.Hour)
		s.ok(s.with("resolve", "pay#1", "--http", "201", "--yes")...)
		x, err := idempotent.New("pay", s.records, nil)
		check.Must(s, err)
		call := func() (receipt, error) {
			return idempotent.Do(s.Context(), x, idempotent.Key{Record: "pay#1"}, func(context.Context) (receipt, error) {
				return receipt{}, errors.New("it ran again")
			})
		}
		if got, err := call(); !errors.Is(err, idempotent.ErrResultUnavailable) || !strings.Contains(err.Error(), "--data") {
			s.Errorf("%v, %v", got, err)
		}
		if r := s.typing(`{"id":"p-7"}`, s.with("resolve", "pay#1", "--completed", "--data", "-", "--yes")...); !strings.Contains(r.err, "resolved it before") {
			s.Errorf("exit %d\n%s", r.code, r.err)
		}
		if got, err := call(); err != nil || got.ID != "p-7" {
			s.Errorf("%v, %v", got, err)
		}
	})
}

func TestResolveReplacesOnlyWhatAnOperatorStored(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.finish("pay#1", "1")
		s.ends(cli.CodeRefused, "all must get the same", "resolve", "pay#1", "--completed", "--no-result", "--yes", "--force")
		r := s.claim("pay#2", -time.Hour)
		r.Fingerprint, r.ID = "", "pay#3"
		plant(s.T, s.records, r)
		s.ends(cli.CodeRefused, "no fingerprint", "resolve", "pay#3", "--http", "201", "--yes", "--force")
		s.ok(s.with("resolve", "pay#3", "--completed", "--no-result", "--yes")...)
		first := s.get("pay#3")
		s.ok(s.with("resolve", "pay#3", "--failed", "no", "--error-code", "51", "--by", "ann", "--reason", "refunded by hand", "--retention", "1s", "--yes")...)
		if r := s.get("pay#3"); r.Status != driver.Failed || r.Owner == first.Owner || r.Expires.Before(first.Expires) {
			s.Errorf("%+v, was %+v", r, first)
		} else {
			check.Equal(t, r.Ended, driver.Ending{At: r.Ended.At, Type: "OperatorError", Code: "51", By: "ann", Reason: "refunded by hand"})
			s.prints("by ann: refunded by hand", "inspect", "pay#3")
			check.False(t, r.Ended.At.Before(first.Ended.At) || first.Ended.At.IsZero(), r.Ended, first.Ended)
		}
	})
}
