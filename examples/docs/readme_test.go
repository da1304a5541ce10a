package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/idempotent/keypath"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/s3payload"
	"github.com/lambda-once/once/idempotent/seal"
)

// The code of README.md.

type Payment struct {
	Customer, ID string
	Amount       int64
}

type Receipt struct{ ID string }

func createPayment(ctx context.Context, p Payment) (Receipt, error) {
	return Receipt{ID: idempotent.DownstreamKey(ctx, "charge")}, nil
}

func key(p Payment) (idempotent.Key, error) {
	return idempotent.Key{Scope: p.Customer, ID: p.ID, Payload: p}, nil
}

func serve(ctx context.Context) error {
	store, err := dynamoenv.Open(ctx, nil) // the table of $IDEMPOTENCY_TABLE
	if err != nil {
		return err
	}
	x, err := idempotent.New("create-payment", store, nil)
	if err != nil {
		return err
	}
	lambda.Start(idempotent.Wrap(x, key, createPayment))
	return nil
}

func policies(store driver.Store) (*idempotent.Executor, error) {
	return idempotent.New("create-payment", store, &idempotent.Config{
		Retention: 7 * 24 * time.Hour,
		Wait:      5 * time.Second,
		Observer:  idempotent.LogObserver{Logger: slog.Default()},
	})
}

func scoped() func(json.RawMessage) (idempotent.Key, error) {
	key := idempotent.WithScope(
		keypath.Path[json.RawMessage]("powertools_json(body).order.id"),
		keypath.Path[json.RawMessage]("requestContext.authorizer.jwt.claims.sub"),
	)
	return key
}

func errorsOf(ctx context.Context, x *idempotent.Executor, p Payment) (int, error) {
	_, err := idempotent.Do(ctx, x, idempotent.Key{ID: p.ID, Payload: p}, func(ctx context.Context) (Receipt, error) {
		return createPayment(ctx, p)
	})
	var running *idempotent.InProgressError
	switch {
	case errors.As(err, &running):
		return 409, nil // and Retry-After; running.Until is the end of the lease
	case errors.Is(err, idempotent.ErrLeaseLost):
		return 409, nil
	case errors.Is(err, idempotent.ErrKeyReused):
		return 422, nil
	case errors.Is(err, idempotent.ErrMissingKey), errors.Is(err, idempotent.ErrInvalidKey):
		return 400, nil
	}
	return 201, err
}

func pay(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	receipt, err := createPayment(ctx, Payment{})
	return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: receipt.ID}, err
}

func serveHTTPAPI(x *idempotent.Executor) {
	lambda.Start(handlers.APIGatewayV2(x, handlers.JWTClaim("sub"), pay, nil))
}

func userOf(r *http.Request) (string, error) {
	user, _, _ := r.BasicAuth() // "" is refused
	return user, nil
}

func middleware(x *idempotent.Executor, mux *http.ServeMux, payments http.Handler) {
	protect := handlers.Middleware(x, handlers.RequestScope(userOf), &handlers.HTTPOptions{
		Documentation: "https://api.example.com/docs/idempotency",
		StoreHeaders:  []string{"Last-Modified"},
	})
	mux.Handle("POST /payments", protect(payments))
}

// What the README promises of HTTP, for net/http.
func TestReadmeHTTP(t *testing.T) {
	x, err := policies(memory.New(0))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	middleware(x, mux, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, idempotent.DownstreamKey(r.Context(), "charge"))
	}))
	send := func(user, key, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/payments", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", key)
		r.SetBasicAuth(user, "")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	first := send("ada", "k", `{"amount":1}`)
	again := send("ada", `"k"`, `{"amount": 1.0}`)
	other := send("eve", "k", `{"amount":1}`)
	if first.Code != 201 || again.Code != 201 || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %d %s, then %d %s %v", first.Code, first.Body, again.Code, again.Body, again.Header())
	}
	if other.Code != 201 || other.Body.String() == first.Body.String() || other.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("another user got %d %s", other.Code, other.Body)
	}
	for want, r := range map[int]*httptest.ResponseRecorder{
		400: send("ada", "", ""), 403: send("", "k", `{"amount":1}`), 422: send("ada", "k", `{"amount":2}`),
	} {
		if r.Code != want || !strings.Contains(r.Body.String(), "https://api.example.com/docs/idempotency") {
			t.Errorf("got %d %s, want %d", r.Code, r.Body, want)
		}
	}
}

// What the first paragraph of the README says of a second click that comes
// while the first still runs.
func TestReadmeSecondClick(t *testing.T) {
	intro, _, _ := strings.Cut(read(t, "README.md"), "\n```go")
	for _, said := range []string{"refused as *in progress*", "`Config.Wait`"} {
		if !strings.Contains(intro, said) {
			t.Errorf("the first paragraph does not say %q", said)
		}
	}
	for wait, want := range map[time.Duration]error{0: idempotent.ErrInProgress, time.Minute: nil} {
		x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{Wait: wait})
		if err != nil {
			t.Fatal(err)
		}
		click := func(run func() string) (string, error) {
			return idempotent.Do(t.Context(), x, idempotent.Key{ID: "p"}, func(context.Context) (string, error) { return run(), nil })
		}
		runs, goOn, first := make(chan bool), make(chan bool), make(chan error)
		go func() {
			_, err := click(func() string { close(runs); <-goOn; return "first" })
			first <- err
		}()
		<-runs
		if wait > 0 {
			close(goOn) // or it would wait for ever
		}
		got, err := click(func() string { return "second" })
		if wait == 0 {
			close(goOn)
		}
		if !errors.Is(err, want) || want == nil && got != "first" {
			t.Errorf("Wait %v: the second click got %q, %v", wait, got, err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
	}
}

// The HTTP snippet of the README and the routes of its CDK app do not fit
// together, and it says so: without an authorizer nobody is a caller.
func TestReadmeScopeNeedsAnAuthorizer(t *testing.T) {
	_, http, _ := strings.Cut(read(t, "README.md"), "\n## HTTP\n")
	http, _, _ = strings.Cut(http, "\n## ")
	_, deploy, _ := strings.Cut(read(t, "README.md"), "\n## Deploy\n")
	if !strings.Contains(deploy, "Public: true") || !strings.Contains(http, "`FirstOf(JWTClaim(\"sub\"), NoIdentity())`") {
		t.Error("the section on HTTP does not say which scope the CDK app's public routes need")
	}
	for want, scope := range map[int]handlers.Scope{
		403: handlers.JWTClaim("sub"), 201: handlers.FirstOf(handlers.JWTClaim("sub"), handlers.NoIdentity()),
	} {
		x, err := idempotent.New("create-payment", memory.New(0), nil)
		if err != nil {
			t.Fatal(err)
		}
		public := events.APIGatewayV2HTTPRequest{Version: "2.0", Body: "{}", Headers: map[string]string{"idempotency-key": "k"}}
		public.RequestContext.HTTP.Method = "POST"
		answer, err := handlers.APIGatewayV2(x, scope, pay, nil)(t.Context(), public)
		if err != nil || answer.StatusCode != want {
			t.Errorf("%d, want %d: %s, %v", answer.StatusCode, want, answer.Body, err)
		}
	}
}

// What the README promises of the first lines, with a store in memory.
func TestReadmeRuns(t *testing.T) {
	x, err := policies(memory.New(0))
	if err != nil {
		t.Fatal(err)
	}
	p := Payment{Customer: "c", ID: "p", Amount: 1}
	handler := idempotent.Wrap(x, key, createPayment)
	first, err := handler(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := handler(t.Context(), p); err != nil || again != first {
		t.Errorf("got %v, %v, first %v", again, err, first)
	}
	p.Amount = 2
	if _, err := handler(t.Context(), p); !errors.Is(err, idempotent.ErrKeyReused) {
		t.Errorf("got %v", err)
	}
	p.Customer = "d"
	for _, want := range []int{201, 201} {
		if status, err := errorsOf(t.Context(), x, p); err != nil || status != want {
			t.Errorf("got %d, %v", status, err)
		}
	}
	p.Amount = 3
	if status, err := errorsOf(t.Context(), x, p); err != nil || status != 422 {
		t.Errorf("got %d, %v", status, err)
	}
}

// Two orders that a float64 cannot tell apart have two keys.
func TestReadmeKeysAreExact(t *testing.T) {
	event := func(id string) json.RawMessage {
		return json.RawMessage(`{"body":"{\"order\":{\"id\":` + id + `}}","requestContext":{"authorizer":{"jwt":{"claims":{"sub":"ada"}}}}}`)
	}
	one, err := scoped()(event("9007199254740992"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := scoped()(event("9007199254740993"))
	if err != nil || one == other || one.Scope != "ada" {
		t.Errorf("got %v and %v, %v", one, other, err)
	}
}

// Every option is in a table of some page.
func TestPagesNameEveryOption(t *testing.T) {
	all := text(t)
	for _, options := range []any{
		idempotent.Config{}, dynamo.Options{},
		handlers.SQSOptions{}, handlers.StreamOptions[any]{}, handlers.EventOptions{}, handlers.HTTPOptions{}, emf.Options{},
		handlers.OutboxOptions{}, outbox.Options{}, seal.Options{}, seal.DataKeyOptions{}, s3payload.Options{},
		dynamoenv.Options{},
	} {
		for i := range reflect.TypeOf(options).NumField() {
			name := reflect.TypeOf(options).Field(i).Name
			if !strings.Contains(all, "| `"+name+"` |") {
				t.Errorf("no page has %T.%s", options, name)
			}
		}
	}
}

// Every command of the Makefile is in some page.
func TestPagesNameEveryCommand(t *testing.T) {
	all := text(t)
	targets := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	if targets == nil {
		t.Fatal("no targets")
	}
	for _, target := range strings.Fields(targets[1]) {
		if !strings.Contains(all, "`make "+target+"`") {
			t.Errorf("no page has make %s", target)
		}
	}
}

var (
	_ = serve
	_ = serveHTTPAPI
)
