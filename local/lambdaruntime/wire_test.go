package lambdaruntime_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
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
	t.Cleanup(func() { check.Nil(t, w.Wire.Close()) })
	url, err := w.To("things", server.URL)
	check.Must(t, err)
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
	t.Parallel()
	w := newWired(t)
	for range 2 {
		if res, err := w.Invoke(t.Context(), w.event); err != nil || res.FunctionError != nil {
			t.Fatal(err, res.FunctionError)
		}
	}
	got, want := names(w.Calls()), append(calls, calls[1:]...)
	check.Slice(t, got, want)
	for i, c := range w.Calls() {
		check.Equal(t, c.Number, i+1)
	}
	got, want = w.all(), []string{"/one", "/two", "/three", "/one", "/two", "/three"}
	check.Slice(t, got, want)
	_, ok := w.Struck()
	check.False(t, ok)
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
				call, ok := w.Struck()
				check.True(t, ok)
				check.Equal(t, call.Number, i+1)
				check.Equal(t, call.Server+" "+call.Operation, name)
				answered := i == 4 && point == lambdaruntime.After || i == 5 && point == lambdaruntime.Before
				var crash *lambdaruntime.CrashedError
				var never *lambdaruntime.InitError
				switch {
				case answered:
					check.Nil(t, err)
					check.Equal(t, string(res.Payload), "null")
				case i == 0 && point == lambdaruntime.Before:
					never = check.As[*lambdaruntime.InitError](t, err)
					check.Equal(t, never.Status, "signal: killed")
				case !errors.As(err, &crash) || crash.Status != "signal: killed":
					t.Errorf("got %v", err)
				}
				want := max(0, min(i, 4)-1)
				if point == lambdaruntime.After && 1 <= i && i <= 3 {
					want++
				}
				asked := []string{"/one", "/two", "/three"}[:want]
				check.Slice(t, w.all(), asked)
				// Once: the next process is left alone.
				again, err := w.Invoke(t.Context(), w.event)
				check.Nil(t, err)
				check.True(t, again.FunctionError == nil)
				check.True(t, again.Cold)
			})
		}
	}
}

func TestWireReportsAServerThatIsGone(t *testing.T) {
	t.Parallel()
	wire := lambdaruntime.NewWire()
	server := httptest.NewServer(new(things))
	url, err := wire.To("things", server.URL)
	check.Must(t, err)
	server.Close()
	res, err := http.Get(url)
	check.Must(t, err)
	res.Body.Close()
	check.Equal(t, res.StatusCode, http.StatusBadGateway)
	err = wire.Close()
	check.Says(t, err, "things")
	_, err = http.Get(url)
	check.Failed(t, err, "a closed wire answers")
}

// A call to another server would not be counted, so it is refused.
func TestWireReportsCallsElsewhere(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://bank.example", "https://bank.example"} {
		wire := lambdaruntime.NewWire()
		r := start(t, lambdaruntime.Function{Wire: wire})
		res, err := r.Invoke(t.Context(), event("get", url))
		check.Nil(t, err, url)
		check.True(t, res.FunctionError != nil, url)
		check.Nil(t, r.Close())
		err = wire.Close()
		check.Says(t, err, "bank.example", url)
	}
}

func TestWireRefuses(t *testing.T) {
	t.Parallel()
	wire := lambdaruntime.NewWire()
	defer wire.Close()
	for _, url := range []string{"", "localhost:8000", "http://"} {
		_, err := wire.To("things", url)
		check.Failed(t, err, url)
	}
	f := lambdaruntime.Function{Binary: probe, Environments: 2, Wire: wire}
	_, err := lambdaruntime.Start(t.Context(), f)
	check.Failed(t, err, "two environments on one wire")
}

func TestWireToPostgreSQL(t *testing.T) {
	t.Parallel()
	database := postgreslocal.NewDatabase(t)
	t.Run("counts round trips", func(t *testing.T) { countsRoundTrips(t, database) })
	t.Run("reports an encrypted connection", func(t *testing.T) { reportsAnEncryptedConnection(t, database) })
}

func countsRoundTrips(t *testing.T, database string) {
	wire := lambdaruntime.NewWire()
	to, err := wire.To("postgres", database)
	check.Must(t, err)
	for range 2 { // each in a connection of its own
		rows, err := postgreslocal.Run(t.Context(), to, "CREATE TABLE IF NOT EXISTS a (n int)", "-- ping",
			"WITH met AS (SELECT n FROM a), w AS (INSERT INTO a VALUES (7) RETURNING n) SELECT n FROM w", "WITH w AS (SELECT 1) SELECT * FROM w", "no SQL")
		check.Says(t, err, "42601")
		check.True(t, len(rows) <= 0, len(rows))
	}
	rows, err := postgreslocal.Run(t.Context(), to, "SELECT n FROM a")
	check.Nil(t, err)
	check.True(t, slices.EqualFunc(rows, [][]string{{"7"}, {"7"}}, slices.Equal))
	want := []string{"postgres create", "postgres insert", "postgres select", "postgres no"}
	check.Slice(t, names(wire.Calls()), append(append(want, want...), "postgres select"))
	check.Nil(t, wire.Close())
	_, err = postgreslocal.Run(t.Context(), to)
	check.Failed(t, err, "the wire is open after Close")
}

func TestWireToRedis(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil) // receives nothing
	t.Cleanup(server.Close)
	pongs, err := wire.Redis(server.Listener.Addr().String(), func(*wire.Request) (*wire.Response, error) {
		return &wire.Response{Body: []byte("+PONG\r\n")}, nil
	})
	check.Must(t, err)
	w := lambdaruntime.NewWire()
	t.Cleanup(func() { check.Nil(t, errors.Join(w.Close(), pongs.Close())) })
	to, err := w.To("redis", "redis://"+pongs.Addr()+"/1")
	check.Must(t, err)
	u, err := url.Parse(to)
	check.Must(t, err)
	check.Equal(t, u.Scheme+u.Path, "redis/1")
	conn, err := net.Dial("tcp", u.Host)
	check.Must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "*1\r\n$4\r\nPING\r\n")
	check.Must(t, err)
	answer := make([]byte, 7)
	_, err = io.ReadFull(conn, answer)
	check.Nil(t, err)
	check.Equal(t, string(answer), "+PONG\r\n")
	check.Slice(t, names(w.Calls()), []string{"redis ping"})
}

// Otherwise its calls would go uncounted.
func reportsAnEncryptedConnection(t *testing.T, database string) {
	wire := lambdaruntime.NewWire()
	to, err := wire.To("postgres", database)
	check.Must(t, err)
	u, err := url.Parse(to)
	check.Must(t, err)
	conn, err := net.Dial("tcp", u.Host)
	check.Must(t, err)
	defer conn.Close()
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // SSLRequest
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1))
	check.Failed(t, err, "it is answered")
	err = wire.Close()
	check.Says(t, err, "sslmode=disable")
}
