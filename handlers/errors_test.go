package handlers_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/outbound"
)

// ownErrors causes each error of the package: an invocation fails with it, or an
// option or an observer receives it.
var ownErrors = map[string]func(t *testing.T) error{
	"BatchError":      func(t *testing.T) error { return notified(t, time.Minute, nil, snsEvent(t, order{})) },
	"RecordError":     func(t *testing.T) error { return notified(t, time.Minute, nil, snsEvent(t, order{})) },
	"NoRecordsError":  func(t *testing.T) error { return notified(t, time.Minute, nil, snsEvent(t)) },
	"DecodeError":     func(t *testing.T) error { return queued(t, fails, events.SQSMessage{MessageId: "m", Body: "null"}) },
	"ShapeError":      func(t *testing.T) error { return queued(t, fails, events.SQSMessage{MessageId: "m", Body: "null"}) },
	"NoIDError":       func(t *testing.T) error { return queued(t, fails, message("", order{})) },
	"NotStartedError": func(t *testing.T) error { return queued(t, fails, fifo("m0"), fifo("m1")) },
	"PanicError": func(t *testing.T) error {
		return queued(t, func() error { panic(&declinedError{}) }, message("m", order{}))
	},
	"UnfinishedError": func(t *testing.T) error {
		return queued(t, func() error { runtime.Goexit(); return nil }, message("m", order{}))
	},
	"UnreadableError": func(t *testing.T) error {
		return queued(t, func() error { return (*url.Error)(nil) }, message("m", order{}))
	},
	"MarginError": func(t *testing.T) error {
		return notified(t, time.Second, &handlers.EventOptions{Margin: time.Minute}, snsEvent(t, order{}))
	},
	"OptionError": func(t *testing.T) error {
		var failures received
		handler := handlers.Kinesis(newExecutor(t, memory.New(0), nil), nil,
			func(context.Context, handlers.KinesisRecord[order]) error {
				return idempotent.Permanent(&declinedError{})
			},
			&handlers.KinesisOptions{OnFailure: failures.receive, Poison: func(context.Context, events.KinesisEventRecord, error) error { return &declinedError{} }})
		if _, err := deliver(t.Context(), handler, marshal(t, kinesisEvent(t, "a", order{}))); err != nil {
			return err
		}
		return failures.failed[0]
	},
	"PublishError": func(t *testing.T) error {
		return relayed(t, &handlers.OutboxOptions{}, make([]error, 99))
	},
	"UnmarkedError": func(t *testing.T) error {
		return relayed(t, &handlers.OutboxOptions{Mark: func(context.Context, []handlers.OutboxKey) error { return &declinedError{} }}, nil)
	},
	"DetailError": func(*testing.T) error {
		_, err := handlers.DetailWithChain([]byte("[]"), "k")
		return err
	},
	"ResponseTooLargeError": func(t *testing.T) (err error) {
		protect := handlers.Middleware(newExecutor(t, memory.New(0), nil), handlers.NoIdentity(), &handlers.HTTPOptions{MaxResponseBytes: 1})
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Idempotency-Key", "k")
		protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, err = io.WriteString(w, "xx") })).ServeHTTP(httptest.NewRecorder(), r)
		return err
	},
	"RequestTooLargeError": func(t *testing.T) error {
		var observed lastEvent
		protect := handlers.Middleware(newExecutor(t, memory.New(0), &idempotent.Config{Observer: &observed}), handlers.NoIdentity(), &handlers.HTTPOptions{MaxRequestBytes: 1})
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("xx"))
		r.Header.Set("Idempotency-Key", "k")
		protect(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
		return observed.Err
	},
	"UnstoredError": func(t *testing.T) error { return observedOf(t, 429, nil) },
	"StatusError":   func(t *testing.T) error { return observedOf(t, 0, &handlers.StatusError{Status: 402}) },
	"NamedError": func(t *testing.T) error {
		return observedOf(t, 0, messages.InvokeResponse_Error{Type: "Declined", Message: "declined"})
	},
	"ExecutionInputError": func(t *testing.T) error {
		return dispatched(t, &startService{}, strings.Repeat(" ", 1<<20)+"{}")
	},
	"ExecutionExistsError": func(t *testing.T) error {
		return dispatched(t, &startService{fail: startedError{}}, "{}")
	},
	"DurableRequestError": func(t *testing.T) error {
		_, err := handlers.Durable(newExecutor(t, memory.New(0), nil), time.Hour, saleID, answers(pendingResponse), nil)(t.Context(), []byte("{}"))
		return err
	},
	"DurableResponseError": func(t *testing.T) error {
		_, err := handlers.Durable(newExecutor(t, memory.New(0), nil), time.Hour, saleID, answers("{}"), nil)(t.Context(), begun(t, "durable-request.json"))
		return err
	},
	"DurableInputError": func(*testing.T) error { return &handlers.DurableInputError{} }, // in a response
	"DurableServiceError": func(t *testing.T) error {
		o := &handlers.DurableOptions{Service: durableService{err: &declinedError{"denied"}}}
		_, err := handlers.Durable(newExecutor(t, memory.New(0), nil), time.Hour, saleID, answers(pendingResponse), o)(t.Context(), onLaterPage(t))
		return err
	},
	"KeyFieldError": func(t *testing.T) error {
		_, err := requested(t, nil, &handlers.HTTPOptions{Key: func(handlers.HTTPRequest) (idempotent.Key, error) {
			return idempotent.Key{Scope: "s", ID: "k"}, nil
		}}, 201, nil)
		return err
	},
}

func fails() error { return &declinedError{} }

func fifo(id string) events.SQSMessage {
	m := message(id, order{})
	m.EventSourceARN += ".fifo"
	return m
}

// queued is the failure of the last message of a queue.
func queued(t *testing.T, fn func() error, batch ...events.SQSMessage) error {
	var failures received
	handler := handlers.SQS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SQSMessage[order]) error { return fn() },
		&handlers.SQSOptions{OnFailure: failures.receive})
	_, err := handler(t.Context(), events.SQSEvent{Records: batch})
	if len(failures.failed) == 0 {
		return err
	}
	return failures.failed[len(failures.failed)-1]
}

// notified is the failure of an invocation by a topic.
func notified(t *testing.T, timeout time.Duration, o *handlers.EventOptions, event []byte) error {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	_, err := deliver(ctx, handlers.SNS(newExecutor(t, memory.New(0), nil), nil, func(context.Context, handlers.SNSMessage[order]) error { return fails() }, o), event)
	return err
}

func relayed(t *testing.T, o *handlers.OutboxOptions, answer []error) error {
	var failures received
	o.OnFailure = failures.receive
	handler := handlers.OutboxRelay(func(context.Context, string, []outbound.Message) ([]error, error) { return answer, nil }, o)
	if _, err := deliver(t.Context(), handler, golden(t, "outbox.json")); err != nil {
		return err
	}
	return failures.failed[0]
}

// requested returns the response to a request whose handler returns a status, or
// an error.
func requested(t *testing.T, o idempotent.Observer, options *handlers.HTTPOptions, status int, err error) (events.APIGatewayV2HTTPResponse, error) {
	x := newExecutor(t, memory.New(0), &idempotent.Config{Observer: o})
	event := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "k"}}
	event.RequestContext.HTTP.Method = http.MethodPost
	return handlers.APIGatewayV2(x, handlers.NoIdentity(), func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: status}, err
	}, options)(t.Context(), event)
}

func observedOf(t *testing.T, status int, failed error) (seen error) {
	_, _ = requested(t, observer(func(e idempotent.Event) { seen = e.Err }), nil, status, failed)
	return seen
}

// Step Functions, metrics and errors.AsType go by the type of an error: each
// that leaves the package has an exported one, and so has all that it wraps.
func TestEveryErrorHasAnExportedType(t *testing.T) {
	for name, happen := range ownErrors {
		err := happen(t)
		if err == nil {
			t.Errorf("%s: nothing failed", name)
			continue
		}
		found := false
		eachIn(err, func(err error) {
			named := reflect.TypeOf(err)
			if named.Kind() == reflect.Pointer {
				named = named.Elem()
			}
			found = found || named.Name() == name && strings.HasSuffix(named.PkgPath(), "/handlers")
			if path := named.PkgPath(); !ast.IsExported(named.Name()) && (path == "errors" || path == "fmt" || strings.HasSuffix(path, "/handlers") || strings.HasSuffix(path, "/idempotent")) {
				t.Errorf("%s: %T is in it: %v", name, err, err)
			}
		})
		if !found {
			t.Errorf("%s: got a %T: %v", name, err, err)
		}
		if err.Error() == "" {
			t.Errorf("%s: it has no text", name)
		}
	}
}

func eachIn(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		eachIn(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			eachIn(inner, visit)
		}
	}
}

// The walk above misses none: every type of the package that is an error is
// in it, and nothing makes an error that has no type of its own.
func TestEveryErrorTypeIsCovered(t *testing.T) {
	// taken off before an error leaves
	inner := []string{"functionError"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		sentinels := map[*ast.CallExpr]bool{}
		ast.Inspect(source, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "Error" && n.Recv != nil {
					types = append(types, strings.TrimPrefix(fmt.Sprint(receiver(n)), "*"))
				}
			case *ast.ValueSpec:
				for i, value := range n.Values {
					if call, ok := value.(*ast.CallExpr); ok && ast.IsExported(n.Names[i].Name) {
						sentinels[call] = true // for errors.Is, and never returned
					}
				}
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || sentinels[n] {
					return true
				}
				switch name := fmt.Sprint(called.X, ".", called.Sel); name {
				case "errors.New", "errors.Join", "fmt.Errorf":
					t.Errorf("%s: %s makes an error without an exported type", file, name)
				}
			}
			return true
		})
	}
	if len(types) < 10 {
		t.Fatalf("only %v are errors", types)
	}
	for _, name := range types {
		if _, walked := ownErrors[name]; !walked && !slices.Contains(inner, name) {
			t.Errorf("%s is not walked", name)
		}
	}
}

func receiver(f *ast.FuncDecl) ast.Expr {
	if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
		return star.X
	}
	return f.Recv.List[0].Type
}
