package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// stage contains the server and the binary of all scenes.
type stage struct {
	server *dynamodblocal.Server
	binary string
}

// scene is a deployment of the function with tables of its own.
type scene struct {
	*lambdaruntime.Runtime
	client            *dynamodb.Client
	records, payments string
	log               *callLog
}

// deploy creates the tables and starts the environments.
func (s *stage) deploy(ctx context.Context, environments int, timeout, delay time.Duration, env ...string) (*scene, error) {
	name := rand.Text()
	c := &scene{client: s.server.Client(), records: "records-" + name, payments: "payments-" + name, log: new(callLog)}
	for _, table := range []string{c.records, c.payments} { // both have the key id
		if err := dynamo.CreateTable(ctx, c.client, table, nil); err != nil {
			return nil, err
		}
	}
	env = append(env,
		"IDEMPOTENCY_TABLE="+c.records,
		"PAYMENTS_TABLE="+c.payments,
		"PAYMENTS_DELAY="+delay.String(),
		"AWS_LAMBDA_LOG_LEVEL=DEBUG",
	)
	var err error
	c.Runtime, err = lambdaruntime.Start(ctx, lambdaruntime.Function{
		Name: "payments", Binary: s.binary, Env: append(env, s.server.Env()...),
		Environments: environments, Timeout: timeout, Log: c.log,
	})
	return c, err
}

func (c *scene) charges(ctx context.Context) (int, error) { return c.count(ctx, c.payments) }

func (c *scene) count(ctx context.Context, table string) (n int, err error) {
	pages := dynamodb.NewScanPaginator(c.client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Select: types.SelectCount})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		n += int(page.Count)
	}
	return n, nil
}

// until polls a table for its first item, which is all that a client of the
// function could see.
func (c *scene) until(ctx context.Context, table string) error {
	for {
		n, err := c.count(ctx, table)
		if err != nil || n > 0 {
			return err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// response is an HTTP response and the environment that returned it.
type response struct {
	Status      int               `json:"statusCode"`
	Headers     map[string]string `json:"headers"`
	Body        string            `json:"body"`
	environment int
}

// replayed reports whether the header says that the response was stored.
func (r response) replayed() bool { return r.Headers["Idempotent-Replayed"] == "true" }

// same compares the status and the body, on which a client acts. A replay differs
// from the first response in its header.
func (r response) same(as response) bool { return r.Status == as.Status && r.Body == as.Body }

// request returns POST /payments as API Gateway sends it to a function.
func request(key string, amount int) []byte {
	event, err := json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "POST /payments", "rawPath": "/payments",
		"headers":        map[string]string{"content-type": "application/json", "idempotency-key": key},
		"requestContext": map[string]any{"http": map[string]string{"method": "POST", "path": "/payments"}},
		"body":           `{"amount":` + strconv.Itoa(amount) + `,"currency":"EUR","source":"card_1"}`,
	})
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return event
}

// invoker is a Runtime, or one Environment of it.
type invoker interface {
	Invoke(context.Context, []byte) (lambdaruntime.Response, error)
}

func post(ctx context.Context, to invoker, event []byte) (response, error) {
	answer, err := to.Invoke(ctx, event)
	if err != nil {
		return response{environment: answer.Environment}, err
	}
	if answer.FunctionError != nil {
		return response{}, answer.FunctionError
	}
	r := response{environment: answer.Environment}
	if err := json.Unmarshal(answer.Payload, &r); err != nil {
		return r, fmt.Errorf("not an HTTP response: %w", err)
	}
	return r, nil
}

// callLog stores the lines of the function's observer.
type callLog struct {
	mu    sync.Mutex
	calls []loggedCall
}

type loggedCall struct {
	Environment int
	Message     string `json:"msg"` // absent in a line of metrics
	Outcome     string `json:"outcome"`
	Attempt     int    `json:"attempt"`
}

// Write receives one line: "payments/3 {…}".
func (l *callLog) Write(line []byte) (int, error) {
	name, text, ok := bytes.Cut(line, []byte(" "))
	_, number, found := bytes.Cut(name, []byte("/"))
	var call loggedCall
	if ok && found && json.Unmarshal(text, &call) == nil && call.Message == "idempotent call" {
		n, err := strconv.Atoi(string(number))
		if err != nil {
			return 0, err
		}
		call.Environment = n
		l.mu.Lock()
		defer l.mu.Unlock()
		l.calls = append(l.calls, call)
	}
	return len(line), nil
}

func (l *callLog) with(outcome string) (calls []loggedCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.Outcome == outcome {
			calls = append(calls, c)
		}
	}
	return calls
}
