package crashtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// A Function is a Lambda function that [Run] disturbs. A field with its zero value has
// its default.
type Function struct {
	// AnswersVary permits that a duplicate receives a different answer from the
	// delivery before it. Default: the answers must be equal; of HTTP responses,
	// the status and the body.
	AnswersVary bool
	// AnyPayload permits that an event with the same key and another payload receives
	// the stored answer. Default: it must not. The payload is changed by the numbers
	// of the event, or by its texts if there is none. A text that contains the name of
	// the run stays. Of an event whose texts are JSON objects, such as that of an HTTP
	// API or of a queue, only these change.
	AnyPayload bool
	// Binary is the compiled function. Default: Package is compiled.
	Binary string
	// Env is the function's environment, as "NAME=value". The function sees
	// only this, the variables of Servers, Lambda's own, and a key for local
	// servers in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
	Env []string
	// Final reports whether the trigger does not deliver the event again after
	// this response. Default: no HTTP status 409, 425, 429 or from 500 up, no
	// batchItemFailures, and of function errors only ReplayedError,
	// OutcomeUnknownError, KeyReusedError, KeyExpiredError and KeyForgottenError, as in
	// [Trial]. Set it if a further error of the function is final, such as a permanent one behind
	// handlers.Invoke, which keeps its own type.
	Final func(lambdaruntime.Response) bool
	// Log receives the function's output. Default: discarded.
	Log io.Writer
	// Package is the path of the function's main package, relative to the folder
	// of the test. Default: ".".
	Package string
	// Parallel is the number of processes that run at once. Most of them wait
	// for a lease. Default: 16.
	Parallel int
	// Servers are all servers that the function calls. Required.
	Servers []Server
	// Timeout is the timeout of an invocation. A retry waits for the lease of
	// the crashed process, which ends shortly after it. Default: three seconds.
	Timeout time.Duration
}

// A Server is a server that a function calls. The function reads its URL from an
// environment variable. The server must be a local one, which does not check
// signatures: requests do not reach it under the host that they were signed for.
// Each round trip to PostgreSQL is a call, and each command to Redis; see [lambdaruntime.Wire.To].
type Server struct {
	// Variable is the environment variable. Required.
	Variable string
	// URL is the URL of the server. Default: the value of the variable in the
	// environment of the test, which dynamodblocal.Main sets.
	URL string
	// Name is the server's name in the report. Default: the end of the
	// variable's name in lower case, such as dynamodb for
	// AWS_ENDPOINT_URL_DYNAMODB.
	Name string
}

// A SetupError reports that a [Function] or a [Trial] cannot be played as it is
// described.
type SetupError struct{ Reason string }

func (e *SetupError) Error() string { return "crashtest: " + e.Reason }

func refuse(format string, args ...any) error {
	return &SetupError{Reason: fmt.Sprintf(format, args...)}
}

func (f Function) withDefaults() (Function, error) {
	f.Package = cmp.Or(f.Package, ".")
	f.Parallel = cmp.Or(f.Parallel, 16)
	f.Timeout = cmp.Or(f.Timeout, 3*time.Second)
	if f.Final == nil {
		f.Final = final
	}
	if f.Parallel < 0 || f.Timeout < 0 {
		return f, refuse("Function.Parallel is %d and Timeout %v: neither may be below 0", f.Parallel, f.Timeout)
	}
	if len(f.Servers) == 0 {
		return f, refuse("Function.Servers is empty: list every server that the function calls")
	}
	servers := f.Servers
	f.Servers = nil
	for _, s := range servers {
		s, err := s.withDefaults()
		if err != nil {
			return f, err
		}
		f.Servers = append(f.Servers, s)
	}
	return f, f.checkEnv()
}

func (s Server) withDefaults() (Server, error) {
	if s.Variable == "" {
		return s, refuse("Server.Variable is empty")
	}
	s.URL = cmp.Or(s.URL, os.Getenv(s.Variable))
	if s.URL == "" {
		return s, refuse("Server.URL is empty, and %s is not set: start the server first", s.Variable)
	}
	s.Name = cmp.Or(s.Name, strings.ToLower(strings.TrimPrefix(s.Variable, "AWS_ENDPOINT_URL_")))
	return s, nil
}

// checkEnv refuses the URL of any further server on this machine. The proxy
// that reports calls elsewhere does not see those calls.
func (f Function) checkEnv() error {
	known := map[string]bool{}
	for _, s := range f.Servers {
		known[host(s.URL)] = true
	}
	for _, entry := range f.Env {
		name, value, _ := strings.Cut(entry, "=")
		if at := host(value); at != "" && !known[at] {
			return refuse("Function.Env sets %s to a server on this machine that is not among the Servers: its calls would not be counted", name)
		}
	}
	return nil
}

// host returns host and port of a URL on this machine, or "".
func host(text string) string {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains([]string{"http", "https", "postgres", "postgresql", "redis"}, u.Scheme) {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ""
	}
	return u.Host
}

// name is the function's name in the report.
func (f Function) name() string {
	if path, err := filepath.Abs(f.Package); f.Binary == "" && err == nil {
		return filepath.Base(path)
	}
	return filepath.Base(f.Binary)
}

// scene returns the scene of all runs.
func (f Function) scene(name string, event func(context.Context, string) ([]byte, error), check func(context.Context, string) error) *kill.Scene {
	scene := &kill.Scene{
		Function: lambdaruntime.Function{
			Binary: f.Binary, Name: name, Log: f.Log, Timeout: f.Timeout,
			Env: append([]string{"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local"}, f.Env...),
		},
		World: func(ctx context.Context) (*kill.World, error) {
			run := "run-" + strings.ToLower(rand.Text())
			payload, err := event(ctx, run)
			if err != nil {
				return nil, fmt.Errorf("event: %w", err)
			}
			w := &kill.World{Event: payload, Final: f.Final}
			if !f.AnyPayload {
				w.Other = []byte(otherPayload(string(payload), run))
			}
			for _, s := range f.Servers {
				w.Servers = append(w.Servers, kill.Server(s))
			}
			w.Check = func(ctx context.Context, _ *kill.Run) (broken, err error) { return check(ctx, run), nil }
			return w, nil
		},
		Slots: make(chan struct{}, f.Parallel),
		// A lease ends shortly after its invocation.
		Patience:  kill.Patience + 2*f.Timeout,
		Operation: withoutNames,
	}
	if !f.AnswersVary {
		scene.Same = same
	}
	return scene
}

// withoutNames returns the method and the shape of a path. It replaces the parts that
// are long or have a digit: names, hashes and ids, which differ in every run. A version
// of an API, such as v1, stays.
func withoutNames(operation string) string {
	method, path, ok := strings.Cut(operation, " ")
	if !ok {
		return operation
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) >= 16 || strings.ContainsAny(part, "0123456789") && !apiVersion.MatchString(part) {
			parts[i] = "…"
		}
	}
	return method + " " + strings.Join(parts, "/")
}

var apiVersion = regexp.MustCompile(`^v[0-9]+$`)
