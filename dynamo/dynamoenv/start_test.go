package dynamoenv_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo/dynamoenv"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

type order struct {
	ID     string
	Amount int
	At     string
}

// keys are the key functions of the function that serve starts.
var keys = map[string]func(order) (idempotent.Key, error){
	"whole":       func(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil },
	"payload":     func(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID, Payload: o.Amount}, nil },
	"fingerprint": func(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID, Fingerprint: "v1"}, nil },
	"nil":         nil,
}

// serve is the function, when a test runs this binary as one.
func serve(key string) {
	dynamoenv.Start("place-order", keys[key], func(_ context.Context, o order) (int, error) { return o.Amount, nil })
}

// started runs this binary as a function, and returns what it logs.
func started(t *testing.T, env ...string) (*lambdaruntime.Runtime, *lines) {
	t.Helper()
	client, table := dynamodblocal.NewTable(t)
	log := &lines{}
	endpoint := "AWS_ENDPOINT_URL_DYNAMODB=" + *client.Options().BaseEndpoint
	env = append([]string{endpoint, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "IDEMPOTENCY_TABLE=" + table}, env...)
	binary, err := os.Executable()
	check.Must(t, err)
	return lambdaruntime.StartTest(t, lambdaruntime.Function{Binary: binary, Env: env, InitTimeout: time.Minute, Timeout: time.Minute, Log: log}), log
}

func TestStartComparesTheRequestUnlessTheKeyNamesAPayload(t *testing.T) {
	for name, refused := range map[string]struct{ amount, at bool }{
		"whole":       {true, true},
		"payload":     {true, false},
		"fingerprint": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			function, _ := started(t, "START_KEY="+name)
			for _, call := range []struct {
				amount  int
				at      string
				refused bool
			}{{7, "9:00", false}, {7, "9:00", false}, {8, "9:00", refused.amount}, {7, "9:01", refused.at}} {
				response, err := function.Invoke(t.Context(), fmt.Appendf(nil, `{"ID": "o-1", "Amount": %d, "At": %q}`, call.amount, call.at))
				check.Must(t, err)
				if call.refused {
					check.Contains(t, string(response.Payload), "KeyReusedError", call)
				} else {
					check.Equal(t, string(response.Payload), "7", call)
				}
			}
		})
	}
}

// The text of the mistake is in the log, and Lambda reports the init as failed.
func TestStartEndsTheInitWithItsMistake(t *testing.T) {
	for want, env := range map[string][]string{
		"IDEMPOTENCY_TABLE is not set":  {"START_KEY=whole", "IDEMPOTENCY_TABLE="},
		`ONCE_METRICS is "statsd"`:      {"START_KEY=whole", "ONCE_METRICS=statsd"},
		`ONCE_DISABLED is "perhaps"`:    {"START_KEY=whole", "ONCE_DISABLED=perhaps"},
		"Wrap: the key function is nil": {"START_KEY=nil"},
	} {
		function, log := started(t, env...)
		_, err := function.Invoke(t.Context(), []byte(`{"ID": "o-1"}`))
		check.Says(t, err, "initialization failed: exit status", want)
		check.Contains(t, log.String(), want)
	}
}

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
