package lambdaruntime_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// things is a server that remembers what it was asked for.
type things struct {
	mu    sync.Mutex
	asked []string
}

func (th *things) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	th.mu.Lock()
	th.asked = append(th.asked, in.URL.Path)
	th.mu.Unlock()
	out.WriteHeader(http.StatusTeapot)
	fmt.Fprintf(out, "answer to %s", in.URL.RequestURI())
}

func (th *things) all() []string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.Clone(th.asked)
}

// wired is a function that calls a server of things over a wire.
type wired struct {
	*lambdaruntime.Runtime
	*lambdaruntime.Wire
	*things
	event []byte
}

func newWired(t *testing.T) wired {
	t.Helper()
	w := wired{Wire: lambdaruntime.NewWire(), things: new(things)}
	server := httptest.NewServer(w.things)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		if err := w.Wire.Close(); err != nil {
			t.Error(err)
		}
	})
	url, err := w.To("things", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.Runtime = start(t, lambdaruntime.Function{Wire: w.Wire}) // closed before the wire
	w.event = event("get", url)
	return w
}

// calls lists the calls of one undisturbed invocation, in order.
var calls = []string{"lambda next", "things GET /one", "things GET /two", "things GET /three", "lambda response", "lambda next"}

func names(calls []lambdaruntime.Call) (list []string) {
	for _, c := range calls {
		list = append(list, c.Server+" "+c.Operation)
	}
	return list
}

func TestWireCountsEveryCall(t *testing.T) {
	w := newWired(t)
	for range 2 {
		if res, err := w.Invoke(t.Context(), w.event); err != nil || res.FunctionError != nil {
			t.Fatal(err, res.FunctionError)
		}
	}
	if got, want := names(w.Calls()), append(calls, calls[1:]...); !slices.Equal(got, want) {
		t.Errorf("calls: %q\nwant:  %q", got, want)
	}
	for i, c := range w.Calls() {
		if c.Number != i+1 {
			t.Errorf("call %d has the number %d", i+1, c.Number)
		}
	}
	if got, want := w.all(), []string{"/one", "/two", "/three", "/one", "/two", "/three"}; !slices.Equal(got, want) {
		t.Errorf("the server was asked for %q, want %q", got, want)
	}
	if call, ok := w.Struck(); ok {
		t.Errorf("killed at %+v, as nobody asked", call)
	}
}

func TestWireNamesCallsAsSDKsDo(t *testing.T) {
	wire := lambdaruntime.NewWire()
	defer wire.Close()
	server := httptest.NewServer(new(things))
	defer server.Close()
	url, err := wire.To("dynamodb", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.TransactWriteItems")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := wire.Calls(); len(got) != 1 || got[0] != (lambdaruntime.Call{Number: 1, Server: "dynamodb", Operation: "TransactWriteItems"}) {
		t.Errorf("got %+v", got)
	}
}

// The process is killed at each call, before and after it. What the server
// has been asked for by then is what the point says, and no more.
func TestWireKills(t *testing.T) {
	for i, name := range calls {
		for _, point := range []lambdaruntime.Point{lambdaruntime.Before, lambdaruntime.After} {
			t.Run(fmt.Sprintf("%s call %d, %s", point, i+1, name), func(t *testing.T) {
				t.Parallel()
				w := newWired(t)
				w.KillAt(i+1, point)
				res, err := w.Invoke(t.Context(), w.event)
				if i == 5 && point == lambdaruntime.After { // idle until the next event
					if _, ok := w.Struck(); err != nil || ok {
						t.Fatalf("killed while it waited, %v", err)
					}
					_, err = w.Invoke(t.Context(), w.event)
				}
				if call, ok := w.Struck(); !ok || call.Number != i+1 || call.Server+" "+call.Operation != name {
					t.Errorf("killed at %+v", call)
				}
				answered := i == 4 && point == lambdaruntime.After || i == 5 && point == lambdaruntime.Before
				var crash *lambdaruntime.CrashedError
				var never *lambdaruntime.InitError
				switch {
				case answered:
					if err != nil || string(res.Payload) != "null" {
						t.Errorf("answered %s, %v", res.Payload, err)
					}
				case i == 0 && point == lambdaruntime.Before:
					if !errors.As(err, &never) || never.Status != "signal: killed" {
						t.Errorf("got %v", err)
					}
				case !errors.As(err, &crash) || crash.Status != "signal: killed":
					t.Errorf("got %v", err)
				}
				want := max(0, min(i, 4)-1)
				if point == lambdaruntime.After && 1 <= i && i <= 3 {
					want++
				}
				asked := []string{"/one", "/two", "/three"}[:want]
				if got := w.all(); !slices.Equal(got, asked) {
					t.Errorf("the server was asked for %q, want %q", got, asked)
				}
				// Once: the next process is left alone.
				again, err := w.Invoke(t.Context(), w.event)
				if err != nil || again.FunctionError != nil || !again.Cold {
					t.Errorf("afterwards: %+v, %v", again, err)
				}
			})
		}
	}
}

func TestWireReportsAServerThatIsGone(t *testing.T) {
	wire := lambdaruntime.NewWire()
	server := httptest.NewServer(new(things))
	url, err := wire.To("things", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadGateway {
		t.Errorf("the caller gets %s", res.Status)
	}
	if err := wire.Close(); err == nil || !strings.Contains(err.Error(), "things") {
		t.Errorf("Close said %v", err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("a closed wire answers")
	}
}

// A call to another server would not be counted, so it is refused.
func TestWireReportsCallsElsewhere(t *testing.T) {
	for _, url := range []string{"http://bank.example", "https://bank.example"} {
		wire := lambdaruntime.NewWire()
		r := start(t, lambdaruntime.Function{Wire: wire})
		res, err := r.Invoke(t.Context(), event("get", url))
		if err != nil || res.FunctionError == nil {
			t.Errorf("%s: answered %s, %v", url, res.Payload, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := wire.Close(); err == nil || !strings.Contains(err.Error(), "bank.example") {
			t.Errorf("%s: Close said %v", url, err)
		}
	}
}

func TestWireRefuses(t *testing.T) {
	wire := lambdaruntime.NewWire()
	defer wire.Close()
	for _, url := range []string{"", "localhost:8000", "http://"} {
		if _, err := wire.To("things", url); err == nil {
			t.Errorf("leads to %q", url)
		}
	}
	f := lambdaruntime.Function{Binary: os.Getenv(handlerVar), Environments: 2, Wire: wire}
	if _, err := lambdaruntime.Start(t.Context(), f); err == nil {
		t.Error("two environments on one wire")
	}
}
