package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/dynamodblocal"
)

// The statements of docs/cost-and-scale.md.

func TestCostPageOfLinesAndMetrics(t *testing.T) {
	var lines bytes.Buffer
	metrics, err := emf.New(&emf.Options{Writer: &lines})
	check.Must(t, err)
	x := executor(t, "create-payment", &idempotent.Config{Observer: metrics})
	for range 2 {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: "k"}, func(context.Context) (int, error) { return 1, nil })
		check.Must(t, err)
	}
	for line := range strings.Lines(lines.String()) {
		n := len(line)
		check.True(t, 700 <= n && n <= 780, n, "bytes, and some 740 are expected", line)
	}
	perOutcome, perOperation := 0, 0
	for _, m := range emf.Metrics() {
		if m.Name == "OldestAbandoned" {
			continue // of an operation with a resumer
		}
		switch fmt.Sprint(m.Dimensions) {
		case "[operation]":
			perOperation++
		case "[operation outcome]":
			perOutcome++
		}
	}
	check.Equal(t, perOperation+3*perOutcome, 10, "the metrics of an operation with three outcomes")
}

// A figure in prose is the one that the page of the measurements has.
func TestFiguresOfPagesAreThoseOfPerformance(t *testing.T) {
	targets := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| at (?:least|most) [^|]+ \| ([\d.]+)`).FindAllStringSubmatch(read(t, "docs/performance.md"), -1) {
		targets[m[1]] = m[2]
	}
	for _, c := range []struct{ page, target, says string }{
		{"docs/cost-and-scale.md", "first calls, 16 callers, +10 ms: calls a second, Group 1, over those without", "made %s times the calls"},
		{"docs/cost-and-scale.md", "a cold start: ms of initialization that protection adds", "[%s ms](performance.md#targets)"},
		{"docs/postgres.md", "first calls on PostgreSQL, 16 callers: client CPU, over those by hand", "takes %s times the client CPU"},
		{"docs/redis.md", "first calls on Redis, 16 callers: µs of the server for a script", "takes the server %s µs"},
	} {
		said := fmt.Sprintf(c.says, targets[c.target])
		check.True(t, strings.Contains(read(t, c.page), said), c.page, "says", said)
	}
}

// outside sends requests from goroutines outside of a synctest bubble. The time
// of the bubble stands still while a request is under way, so the number of
// requests does not depend on how fast the server is.
type outside struct {
	free    chan *courier
	sent    atomic.Int32
	latency time.Duration
}

// A courier's channels are made outside of the bubble: a wait for them does not
// let the bubble's time pass.
type courier struct {
	send    chan *http.Request
	receive chan answer
}

type answer struct {
	response *http.Response
	err      error
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	var client http.Client
	o := &outside{free: make(chan *courier, 32)}
	for range cap(o.free) {
		c := &courier{make(chan *http.Request), make(chan answer)}
		o.free <- c
		go func() {
			for r := range c.send {
				c.receive <- deliver(&client, r)
			}
		}()
		t.Cleanup(func() { close(c.send) })
	}
	t.Cleanup(client.CloseIdleConnections)
	return o
}

// deliver returns a response whose body has been read.
func deliver(client *http.Client, r *http.Request) answer {
	res, err := client.Do(r)
	if err != nil {
		return answer{nil, err}
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	res.Body = io.NopCloser(bytes.NewReader(body))
	return answer{res, err}
}

// Do implements dynamodb.HTTPClient.
func (o *outside) Do(r *http.Request) (*http.Response, error) {
	o.sent.Add(1)
	time.Sleep(o.latency) // of the bubble
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	out := r.Clone(context.Background()) // a context of the bubble must not leave it
	out.Body = io.NopCloser(bytes.NewReader(body))
	c := <-o.free
	c.send <- out
	got := <-c.receive
	o.free <- c
	return got.response, got.err
}

// takes1To50ms takes a different time for each message.
func takes1To50ms(_ context.Context, m handlers.SQSMessage[string]) error {
	_, number, _ := strings.Cut(m.Source.MessageId, "-") // without a number, Atoi fails
	n, err := strconv.Atoi(number)
	time.Sleep(time.Duration(1+n*17%50) * time.Millisecond) // of the bubble
	return err
}

// The requests of grouped batches in docs/cost-and-scale.md and README.
func TestRequestsOfAGroupedBatch(t *testing.T) {
	client, table := dynamodblocal.NewTable(t)
	for i, c := range []struct {
		messages, unrecorded, ahead, again int
		concurrency                        int
		latency                            time.Duration
		unequal                            bool
		want                               int32
	}{
		{messages: 10, want: 11},
		{messages: 10, unrecorded: 10, want: 2},
		{messages: 10, unrecorded: 10, again: 1, want: 1},
		{messages: 25, want: 26},
		{messages: 25, unrecorded: 25, want: 4},
		{messages: 25, unrecorded: 25, ahead: 25, want: 2},
		{messages: 25, unrecorded: 25, again: 1, want: 3},
		{messages: 25, unrecorded: 25, ahead: 25, again: 1, want: 1},
		{messages: 10, unrecorded: 10, unequal: true, want: 2},
		{messages: 10, unrecorded: 10, latency: 2 * time.Millisecond, unequal: true, want: 2},
		{messages: 10, unrecorded: 10, latency: 10 * time.Millisecond, unequal: true, want: 2},
		{messages: 10, unrecorded: 10, concurrency: 5, unequal: true, want: 2},
		{messages: 10, unrecorded: 10, concurrency: 5, latency: 2 * time.Millisecond, unequal: true, want: 2},
		{messages: 10, unrecorded: 10, concurrency: 5, latency: 10 * time.Millisecond, unequal: true, want: 2},
		{messages: 25, unrecorded: 25, ahead: 25, concurrency: 5, unequal: true, want: 2},
		{messages: 10, concurrency: 5, unequal: true, want: 7},
		{messages: 10, concurrency: 10, unequal: true, want: 2},
		{messages: 10, concurrency: 10, want: 2},
	} {
		network := newOutside(t)
		network.latency = c.latency
		synctest.Test(t, func(t *testing.T) {
			options := client.Options()
			options.HTTPClient = network
			store, err := dynamo.New(dynamodb.New(options), table, &dynamo.Options{Group: 1})
			check.Must(t, err)
			x, err := idempotent.New("place-order", store, &idempotent.Config{Ahead: c.ahead})
			check.Must(t, err)
			fn := func(context.Context, handlers.SQSMessage[string]) error { return nil }
			if c.unequal {
				fn = takes1To50ms
			}
			handle := handlers.SQS(x, nil, fn,
				&handlers.SQSOptions{Concurrency: c.concurrency, Unrecorded: c.unrecorded})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for delivery := range c.again + 1 {
				network.sent.Store(0)
				var event events.SQSEvent
				for m := range c.messages {
					event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprintf("%d-%d", i, m), Body: "order", EventSource: "aws:sqs",
						EventSourceARN: "arn:aws:sqs:us-east-1:111122223333:orders", Attributes: map[string]string{"ApproximateReceiveCount": fmt.Sprint(delivery + 1)}})
				}
				got, err := handle(ctx, event)
				check.Must(t, err)
				check.Equal(t, len(got.BatchItemFailures), 0, got)
			}
			check.Equal(t, network.sent.Load(), c.want, c, "requests")
		})
	}
}
