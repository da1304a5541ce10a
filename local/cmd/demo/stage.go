package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
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
	log               outcomes
}

// deploy creates the tables and starts the environments.
func (s *stage) deploy(ctx context.Context, environments int, timeout, delay time.Duration, env ...string) (*scene, error) {
	name := rand.Text()
	c := &scene{client: s.server.Client(), records: "records-" + name, payments: "payments-" + name, log: outcomes{}}
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

// count counts the few items of a table.
func (c *scene) count(ctx context.Context, table string) (int, error) {
	page, err := c.client.Scan(ctx, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Select: types.SelectCount})
	if err != nil {
		return 0, err
	}
	return int(page.Count), nil
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
		return response{}, err
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

// outcomes counts the calls in the log of the function's observer. It is the Log of a
// runtime, which writes one line at a time, and is read when that is closed.
type outcomes map[string]int

// Write receives one line: "payments/3 {…}".
func (o outcomes) Write(line []byte) (int, error) {
	_, text, _ := bytes.Cut(line, []byte(" ")) // a line without a prefix is no call
	var call struct {
		Message string `json:"msg"` // absent in a line of metrics
		Outcome string `json:"outcome"`
	}
	if json.Unmarshal(text, &call) == nil && call.Message == "idempotent call" {
		o[call.Outcome]++
	}
	return len(line), nil
}
