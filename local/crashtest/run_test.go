package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/crashtest"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// till is the compiled function of these tests.
var till string

func TestMain(m *testing.M) {
	binary, err := lambdaruntime.Build(context.Background(), ".", "./internal/till")
	if err != nil {
		panic(err)
	}
	till = binary
	code := m.Run()
	if err := os.RemoveAll(filepath.Dir(binary)); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// ledger counts requests by path. It does those with one key once.
type ledger struct {
	mu   sync.Mutex
	seen map[string]bool
	done map[string]int
}

func newLedger(t *testing.T) (_ *ledger, url string) {
	t.Helper()
	l := &ledger{seen: map[string]bool{}, done: map[string]int{}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	return l, server.URL
}

func (l *ledger) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := in.Header.Get("Idempotency-Key")
	if !l.seen[in.URL.Path] || key == "" {
		l.done[in.URL.Path]++
	}
	l.seen[in.URL.Path] = true
	out.WriteHeader(http.StatusNoContent)
}

var errCharges = errors.New("charges")

// charged returns a check: the duplicate at the end charges a naive till twice.
func (l *ledger) charged(times int) func(context.Context, string) error {
	return func(_ context.Context, run string) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := l.done["/charges/"+run]; n != times {
			return fmt.Errorf("%d %w", n, errCharges)
		}
		return nil
	}
}

func sale(_ context.Context, run string) ([]byte, error) {
	return fmt.Appendf(nil, `{"sale": %q}`, run), nil
}

func function(url, mode string) crashtest.Function {
	return crashtest.Function{
		Binary: till, Env: []string{"TILL_MODE=" + mode},
		Servers: []crashtest.Server{{Name: "provider", Variable: "PROVIDER_URL", URL: url}},
	}
}

// points are all points of a till.
var points = []string{"lambda next", "provider POST /charges/…", "provider POST /receipts/…", "lambda response", "lambda next"}

// The one delivery and its duplicate charge twice; every crash after the charge
// adds one.
func TestPlayFindsEveryEffectOfANaiveFunction(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	report, err := crashtest.Play(t.Context(), function(url, "naive"), sale, l.charged(2))
	check.Must(t, err)
	if len(report.Results) < 1+2*len(points) {
		t.Fatalf("%v", report)
	}
	kills := report.Results[1 : 1+2*len(points)]
	for i, r := range kills {
		want := crashtest.Result{Number: 1 + i/2, Call: points[i/2], Crash: crashtest.KilledBefore + crashtest.Crash(i%2), Retries: r.Retries, Answer: "ok", Broken: r.Broken}
		check.Equal(t, r, want)
		// Between the charge and the answer.
		broken := i >= 3 && i <= 6
		if (r.Broken != nil) != broken || broken && !errors.Is(r.Broken, errCharges) {
			t.Errorf("%v %s: %v", r.Crash, r.Call, r.Broken)
		}
	}
	err = crashtest.Report{Results: kills}.Err()
	e := check.As[*crashtest.BrokenError](t, err)
	check.Is(t, err, errCharges)
	check.Equal(t, e.Points, 10)
	check.Equal(t, len(e.Results), 4)
	const want = "crashtest: the invariant is broken at 4 of 10 points; killed after 2 provider POST /charges/…: 3 charges; " +
		"killed before 3 provider POST /receipts/…: 3 charges; killed after 3 provider POST /receipts/…: 3 charges; …"
	check.Equal(t, err.Error(), want)
	text := strings.Join(strings.Fields(report.String()), " ")
	for _, want := range []string{
		"call crash retries answer invariant all never 0 ok holds", "2 provider POST /charges/… killed before 1 ok holds",
		"2 provider POST /charges/… killed after 1 ok BROKEN: 3 charges", "all at once 0 ok BROKEN: 4 charges", "17 points, broken at ",
	} {
		check.Contains(t, text, want)
	}

	// A process that continues after its successor has answered charges as well: its
	// request was on the way, or it makes the next one.
	broken := map[string]string{}
	for _, r := range report.Results {
		if r.Broken != nil {
			broken[fmt.Sprintf("%v %d", r.Crash, r.Number)] = r.Broken.Error()
		}
	}
	for _, point := range []string{"frozen before 2", "frozen after 2", "frozen before 3", "frozen after 3", "answer lost 2"} {
		check.Equal(t, broken[point], "3 charges", point)
	}
	check.Equal(t, broken["at once 0"], "4 charges")
	check.Contains(t, fmt.Sprint(crashtest.Report{Results: report.Results[len(report.Results)-1:]}.Err()), "; at once: 4 charges")
}

// The till that keys its requests charges once, and does not look at the amount.
func TestPlayFindsAnAnswerForAnotherPayload(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	f := function(url, "keyed")
	event := func(_ context.Context, run string) ([]byte, error) {
		return fmt.Appendf(nil, `{"sale": %q, "cents": 30}`, run), nil
	}
	report, err := crashtest.Play(t.Context(), f, event, l.charged(1))
	check.Must(t, err)
	check.Says(t, report.Err(), "broken at 1 of 18 points; other payload: the changed event", `"cents":130`)
	f.AnyPayload = true
	r := &recorder{T: t}
	crashtest.Run(r, f, event, l.charged(1))
	check.Equal(t, len(r.failures), 0)
	check.Contains(t, strings.Join(r.logs, ""), "\n17 points, broken at 0")
}

// recorder is a test that may fail.
type recorder struct {
	*testing.T
	failures, logs []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

// A function that is broken without a crash is not played at all.
func TestRunFailsTheTestOfABrokenInvariant(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	r := &recorder{T: t}
	crashtest.Run(r, function(url, "naive"), sale, l.charged(1))
	check.Slice(t, r.failures, []string{"crashtest: the invariant is broken without a crash: 2 charges"})
	check.Equal(t, len(r.logs), 1)
	check.Contains(t, strings.Join(r.logs, ""), "\n0 points, broken at 0")
}

func TestFinalErrorIsAnAnswer(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	f := function(url, "errs")
	f.Final = func(r lambdaruntime.Response) bool {
		return r.FunctionError == nil || r.FunctionError.Type == "ClosedError"
	}
	report, err := crashtest.Play(t.Context(), f, sale, l.charged(2))
	check.Nil(t, err)
	check.Equal(t, report.Results[0].Answer, "ClosedError")
	check.Nil(t, report.Results[0].Broken)
}

// Calls that nobody counts would hide the moments around them.
func TestCallPastTheServersIsAnError(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	_, err := crashtest.Play(t.Context(), function(url, "strays"), sale, l.charged(2))
	check.Says(t, err, "elsewhere.invalid: not a server of the wire")
}

func TestServerThatIsNeverCalledIsAnError(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	f := function(url, "naive")
	f.Servers = append(f.Servers, crashtest.Server{Variable: "AWS_ENDPOINT_URL_DYNAMODB", URL: url})
	_, err := crashtest.Play(t.Context(), f, sale, l.charged(2))
	if want := "crashtest: the function made no call to dynamodb: does it read AWS_ENDPOINT_URL_DYNAMODB?"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestAnswersVaryOnlyIfPermitted(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	f := function(url, "varies")
	report, err := crashtest.Play(t.Context(), f, sale, l.charged(1))
	check.Nil(t, err)
	check.Contains(t, fmt.Sprint(report.Err()), "broken without a crash: first answered ")
	f.AnswersVary = true
	report, err = crashtest.Play(t.Context(), f, sale, l.charged(1))
	check.Nil(t, err)
	check.Nil(t, report.Err())
}

func TestErrorOfAnEventIsNoBrokenInvariant(t *testing.T) {
	t.Parallel()
	l, url := newLedger(t)
	errTable := errors.New("no such table")
	_, err := crashtest.Play(t.Context(), function(url, "naive"), func(context.Context, string) ([]byte, error) { return nil, errTable }, l.charged(2))
	check.Is(t, err, errTable)
}

func TestFunctionThatCannotBePlayedIsRefused(t *testing.T) {
	one := []crashtest.Server{{Variable: "PROVIDER_URL", URL: "http://127.0.0.1:1"}}
	for want, f := range map[string]crashtest.Function{
		"Servers is empty":             {},
		"Server.Variable is empty":     {Servers: []crashtest.Server{{URL: "http://127.0.0.1:1"}}},
		"NOT_SET is not set":           {Servers: []crashtest.Server{{Variable: "NOT_SET"}}},
		"neither may be below 0":       {Servers: one, Parallel: -1},
		"event and check are required": {Servers: one},
		"Function.Env sets QUEUE to a": {Servers: one, Env: []string{"QUEUE=http://localhost:9324/1/q"}},
	} {
		_, err := crashtest.Play(t.Context(), f, sale, nil)
		check.As[*crashtest.SetupError](t, err)
		check.Says(t, err, want)
	}
}
