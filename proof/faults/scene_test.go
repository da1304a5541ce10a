// Package faults tests the whole: a compiled function that Once protects, run as on
// Lambda against DynamoDB Local, while its process exits or is frozen, or is cut off
// from the server. Package crashmatrix kills processes.
//
// The tests of idempotent and dynamo check the protocol step by step. These check
// only the facts that a caller observes: the number of effects, and the response.
package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// patience limits every wait. Only a failing test waits for so long.
const patience = 2 * time.Minute

// scene consists of one key, a table of records and a table of effects.
type scene struct {
	*testing.T
	*stage
	client           *dynamodb.Client
	records, effects string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, stage: newStage(t)}
	s.client, s.records = dynamodblocal.NewTable(t)
	_, s.effects = dynamodblocal.NewTable(t)
	return s
}

// deploy starts a runtime of the worker. args override the defaults.
func (s *scene) deploy(f lambdaruntime.Function, args ...string) *lambdaruntime.Runtime {
	s.Helper()
	f.Binary = worker
	f.InitTimeout = patience
	if f.Timeout == 0 {
		f.Timeout = 2 * patience
	}
	f.Args = append([]string{
		"-endpoint=" + os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), "-records=" + s.records, "-effects=" + s.effects,
		"-skew=50ms", "-reserve=200ms",
	}, args...)
	return lambdaruntime.StartTest(s, f)
}

// call is an invocation that runs concurrently with the test.
type call struct {
	res  lambdaruntime.Response
	err  error
	done chan struct{}
}

func (s *scene) invoke(r *lambdaruntime.Runtime, finish, addr string) *call {
	c := &call{done: make(chan struct{})}
	payload := fmt.Appendf(nil, `{"key":"k","finish":%q,"addr":%q}`, finish, addr)
	go func() {
		defer close(c.done)
		ctx, cancel := context.WithTimeout(s.Context(), 2*patience)
		defer cancel()
		c.res, c.err = r.Invoke(ctx, payload)
	}()
	return c
}

// answer waits for the response of the function.
func (s *scene) answer(c *call) lambdaruntime.Response {
	s.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		s.Fatal("the invocation does not end")
	}
	check.Must(s, c.err)
	return c.res
}

// ask makes a call whose handler does not wait for the test.
func (s *scene) ask(r *lambdaruntime.Runtime) lambdaruntime.Response {
	s.Helper()
	return s.answer(s.invoke(r, "ok", ""))
}

// play retries until the handler runs.
func (s *scene) play(r *lambdaruntime.Runtime, finish string) (*call, *actor) {
	s.Helper()
	ticker := time.NewTicker(30 * time.Millisecond) // without a backoff, retries would starve the other tests
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-ticker.C {
		c := s.invoke(r, finish, s.addr)
		select {
		case a := <-s.actors:
			return c, a
		case <-c.done:
			s.refused(s.answer(c), "InProgressError")
		case <-time.After(patience):
			s.Fatal("the handler did not run, and there is no response")
		}
	}
	s.Fatal("the handler never ran")
	return nil, nil
}

// refused requires an error of the type want.
func (s *scene) refused(res lambdaruntime.Response, want string) {
	s.Helper()
	if res.FunctionError == nil || res.FunctionError.Type != want {
		s.Fatalf("got %s, want a %s", res.Payload, want)
	}
}

type result struct {
	Attempt int64  `json:"attempt"`
	PID     int    `json:"pid"`
	Effect  string `json:"effect"`
}

// resulted requires the result of the actor's run.
func (s *scene) resulted(res lambdaruntime.Response, by *actor) {
	s.Helper()
	var got result
	if err := json.Unmarshal(res.Payload, &got); err != nil || res.FunctionError != nil {
		s.Fatalf("got %s, %v, want a result", res.Payload, err)
	}
	if got.Attempt != by.Attempt || got.PID != by.PID || got.Effect == "" {
		s.Fatalf("got %+v, want the result of attempt %d in process %d", got, by.Attempt, by.PID)
	}
}

// happened requires a number of effects.
func (s *scene) happened(want int) {
	s.Helper()
	check.Equal(s, len(s.scan(s.effects)), want, "effects")
}

// lapse ends the lease of a record by hand, so that no test waits for it.
func lapse(t *testing.T, client *dynamodb.Client, table string, id types.AttributeValue) {
	t.Helper()
	if _, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, Key: map[string]types.AttributeValue{"id": id},
		UpdateExpression:          aws.String("SET in_progress_expiration = :past"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":past": &types.AttributeValueMemberN{Value: "1"}},
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) scan(table string) []map[string]types.AttributeValue {
	s.Helper()
	out, err := s.client.Scan(s.Context(), &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	check.Must(s, err)
	return out.Items
}

func (s *scene) sameItems(got, want []map[string]types.AttributeValue) {
	s.Helper()
	check.Deep(s, got, want, "the records were changed")
}
