package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// The function of the payments example, in four environments. Its charges are items of
// the table.
func TestLoadOfAFunction(t *testing.T) {
	s := newScene(t)
	function, err := lambdaruntime.Start(t.Context(), lambdaruntime.Function{
		Binary: lambdaruntime.BuildTest(t, "../../examples", "./payments"), Environments: 4, Timeout: time.Minute,
		Env: append(environment(nil), "IDEMPOTENCY_TABLE="+s.table, "PAYMENTS_TABLE="+s.table),
	})
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, function.Close()) })
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check.Contains(t, r.URL.Path, "/functions/payments/invocations")
		event, err := io.ReadAll(r.Body)
		check.Nil(t, err)
		response, err := function.Invoke(r.Context(), event)
		check.Nil(t, err)
		if response.FunctionError != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		}
		_, err = w.Write(response.Payload)
		check.Nil(t, err)
	}))
	t.Cleanup(service.Close)
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", service.URL)
	event := strings.Replace(paymentEvent, `"k-1"`, `"$KEY"`, 1)
	r := s.typing(event, "load", "payments", "--event", "-", "--keys", "5", "--duplicates", "4", "--charge", "id")
	check.Equal(t, r.code, 0, r.err)
	check.Contains(t, r.out, " 0 different, ")
	check.Contains(t, r.out, " 0 failed\ncharges: 5, and 0 keys with more than one\n")
	r = s.typing(paymentEvent, "load", "payments", "--event", "-", "--keys", "2")
	check.Equal(t, r.code, cli.CodeUsage, "all events have one key")
}

func TestLoadOfAnURL(t *testing.T) {
	x, err := idempotent.New("pay", memory.New(0), nil)
	check.Must(t, err)
	var charges atomic.Int64
	pay := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"charge":%d}`, charges.Add(1)) })
	s := &scene{T: t}
	for name, c := range map[string]struct {
		handler http.Handler
		code    int
		out     string
	}{
		"protected":   {httpapi.Middleware(x, httpapi.NoIdentity(), nil)(pay), 0, "charges: 3, and 0 keys with more than one\n"},
		"unprotected": {pay, cli.CodeFailed, "answers: 3 equal, 6 different, 0 in progress, 0 failed\ncharges: 9, and 3 keys with more than one\n"},
		"broken":      {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), cli.CodeFailed, "answers: 0 equal, 0 different, 0 in progress, 9 failed\ncharges: 0, and 0 keys with more than one\n"},
		"not allowed": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }), cli.CodeFailed, "answers: 9 equal, 0 different, 0 in progress, 0 failed\ncharges: 0, and 0 keys with more than one\n"},
		"busy":        {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) }), cli.CodeFailed, "answers: 0 equal, 0 different, 9 in progress, 0 failed\ncharges: 0, and 0 keys with more than one\n"},
	} {
		server := httptest.NewServer(c.handler)
		t.Cleanup(server.Close)
		r := s.typing("{}", "load", server.URL, "--event", "-", "--keys", "3", "--duplicates", "2", "--charge", "charge")
		check.Equal(t, r.code, c.code, name, r.err)
		check.Contains(t, r.out, c.out, name)
		check.Equal(t, strings.Contains(r.err, "a failure: HTTP 500\n"), name == "broken", r.err)
		check.Equal(t, strings.Contains(r.err, "a failure: HTTP 401\n"), name == "not allowed", r.err)
	}
}

func TestLoadSendsHeaders(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check.Equal(t, r.Header.Get("Authorization"), "Bearer ada")
		check.Differ(t, r.Header.Get("Idempotency-Key"), "")
	}))
	defer server.Close()
	check.Equal(t, (&scene{T: t}).typing("{}", "load", server.URL, "--event", "-", "--header", "Authorization: Bearer ada").code, 0)
}

func TestLoadIsUsedWrongly(t *testing.T) {
	s := &scene{T: t}
	for _, args := range [][]string{{}, {"orders"}, {"orders", "--event", "-", "--keys", "0"}, {"orders", "--event", "-", "--charge", "]"}, {"orders", "--event", "none"}, {"orders", "--event", "-", "--header", "x"}} {
		check.Equal(t, s.run(append([]string{"load"}, args...)...).code, cli.CodeUsage, args)
	}
	_, err := os.Stat("none")
	check.True(t, errors.Is(err, os.ErrNotExist))
}
