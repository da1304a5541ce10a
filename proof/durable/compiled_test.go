package durable_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/proof/durable"
)

// crashes plays a compiled function on one table.
type crashes struct {
	*testing.T
	binary, table string
}

// The process of a compiled function is killed before and after every call that
// it makes: to DynamoDB, to the service, to the bank and to Lambda.
func TestKilledFunctionChargesOnce(t *testing.T) {
	_, table := dynamodblocal.NewTable(t)
	c := crashes{t, lambdaruntime.BuildTest(t, ".", "./worker"), table}
	calls := c.play(0, lambdaruntime.Before)
	if calls < 12 {
		t.Fatalf("only %d calls", calls)
	}
	slots := make(chan struct{}, 3)
	var all sync.WaitGroup
	for number := 1; number <= calls; number++ {
		for _, p := range []lambdaruntime.Point{lambdaruntime.Before, lambdaruntime.After} {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				c.play(number, p)
			})
		}
	}
	all.Wait()
}

// play kills the process at a call of the first execution, or nowhere at 0. It
// returns the number of that execution's calls, without the last: the process
// then waits for the next invocation.
func (c crashes) play(number int, p lambdaruntime.Point) (calls int) {
	id := fmt.Sprint("o-", number, "-", p)
	service := durable.NewService(5*time.Second, func(int) time.Duration { return 20 * time.Millisecond })
	defer service.Close()
	bank := bank{charges: map[string]int{}}
	mux := http.NewServeMux()
	mux.Handle("/checkpoint", service)
	mux.HandleFunc("/charge/{order}/{key}", func(w http.ResponseWriter, r *http.Request) {
		bank.mu.Lock()
		defer bank.mu.Unlock()
		bank.charges[r.PathValue("key")]++
		fmt.Fprint(w, "receipt of ", r.PathValue("order"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	wire := lambdaruntime.NewWire()
	defer wire.Close()
	to := func(name, url string) string {
		endpoint, err := wire.To(name, url)
		if err != nil {
			c.Error(err)
		}
		return endpoint
	}
	wire.KillAt(number, p)
	function, err := lambdaruntime.Start(c.Context(), lambdaruntime.Function{
		Binary: c.binary, Name: "pay", Timeout: 30 * time.Second, Wire: wire,
		Env: []string{
			"IDEMPOTENCY_TABLE=" + c.table,
			"AWS_ENDPOINT_URL_DYNAMODB=" + to("dynamodb", os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")),
			"SERVICE_URL=" + to("service", server.URL),
		},
	})
	if err != nil {
		c.Error(err)
		return 0
	}
	defer function.Close()
	service.Invoke = func(ctx context.Context, request []byte) ([]byte, error) {
		answer, err := function.Invoke(ctx, request)
		if err == nil && answer.FunctionError != nil {
			err = fmt.Errorf("%s: %s", answer.FunctionError.Type, answer.FunctionError.Message)
		}
		return answer.Payload, err
	}
	input := fmt.Sprintf(`{"ID":%q}`, id)
	want := quoted("receipt of " + id)
	for _, name := range []string{"first", "duplicate"} {
		if status, result := service.Start(name, input).Run(c.Context()); status != "SUCCEEDED" || result != want {
			c.Errorf("%s call %d, %s: %s, %s", p, number, name, status, result)
		}
		if name == "first" {
			calls = len(wire.Calls()) - 1
		}
	}
	struck, killed := wire.Struck()
	if requests, charged := bank.effects(); charged != 1 || requests > 2 || killed != (number > 0) {
		c.Errorf("%s %+v: %d requests to the bank, %d charges", p, struck, requests, charged)
	}
	return calls
}
