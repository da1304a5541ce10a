package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/adapter"
)

// interceptor is the way to DynamoDB Local. A mischief may come in between, for one
// operation.
type interceptor struct {
	mu     sync.Mutex
	calls  []string
	faults map[string]mischief
}

// A mischief answers a request in place of DynamoDB. It may pass it on, changed or
// not.
type mischief func(body []byte, pass func(body []byte) []byte) ([]byte, error)

var errCut = errors.New("the connection is cut")

func (i *interceptor) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	i.mu.Lock()
	i.calls = append(i.calls, op)
	f := i.faults[op]
	i.mu.Unlock()
	send := func(body []byte) (*http.Response, error) {
		again := req.Clone(context.WithoutCancel(req.Context()))
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		again.Header.Del("X-Amz-Content-Sha256") // DynamoDB Local checks no signature
		return http.DefaultClient.Do(again)
	}
	if f == nil {
		return send(body)
	}
	answer, err := f(body, func(body []byte) []byte {
		res, err := send(body)
		if err != nil {
			panic(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			panic(errors.Join(err, errors.New(string(answer))))
		}
		return answer
	})
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if bytes.Contains(answer, []byte(`"__type"`)) {
		status = http.StatusBadRequest
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(answer))}, nil
}

// on puts a mischief into the way of an operation; nil takes it away.
func (i *interceptor) on(op string, f mischief) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.faults[op] = f
}

// firstTime applies a mischief to the first request alone.
func firstTime(f mischief) mischief {
	var used atomic.Bool
	return func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		if used.Swap(true) {
			return pass(body), nil
		}
		return f(body, pass)
	}
}

// sent returns the operations since the last time, sorted.
func (i *interceptor) sent() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	slices.Sort(i.calls)
	sent := strings.Join(i.calls, " ")
	i.calls = nil
	return sent
}

// intercepted is a store whose writes are shared by those who arrive together.
// The SDK repeats nothing by itself.
func intercepted(t *testing.T, change ...func(*dynamodb.Options)) (*Store, *interceptor) {
	t.Helper()
	_, table := newTable(t)
	wire := &interceptor{faults: map[string]mischief{}}
	client := newClient(t, append([]func(*dynamodb.Options){func(o *dynamodb.Options) {
		o.HTTPClient, o.Retryer = wire, aws.NopRetryer{}
	}}, change...)...)
	s := loneStore(t, client, table, nil)
	s.limit(patient)
	return s, wire
}

// countdown is the Sibling of n writes. The last one that arrives has none.
type countdown struct{ left atomic.Int64 }

func (c *countdown) Arrive() int { return int(c.left.Add(-1)) }

// together runs calls whose next writes share a request.
func together(t *testing.T, n int, call func(ctx context.Context, i int)) *countdown {
	t.Helper()
	var siblings countdown
	siblings.left.Store(int64(n))
	ctx := adapter.With(t.Context(), adapter.Sibling(siblings.Arrive))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(ctx, i) })
	}
	wg.Wait()
	return &siblings
}

// statements of a request, and the responses to it.
type (
	statementsBody struct{ Statements []json.RawMessage }
	responsesBody  struct{ Responses []json.RawMessage }
)

// some passes on only the statements for which pass is true, and answers the
// others with an error.
func some(code string, passes func(i int) bool) mischief {
	return func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		var all, part statementsBody
		if err := json.Unmarshal(body, &all); err != nil {
			return nil, err
		}
		for i, st := range all.Statements {
			if passes(i) {
				part.Statements = append(part.Statements, st)
			}
		}
		var answers, got responsesBody
		if len(part.Statements) > 0 {
			if err := json.Unmarshal(pass(encode(part)), &got); err != nil {
				return nil, err
			}
		}
		for i := range all.Statements {
			if passes(i) {
				answers.Responses, got.Responses = append(answers.Responses, got.Responses[0]), got.Responses[1:]
				continue
			}
			answers.Responses = append(answers.Responses, encode(map[string]any{"Error": map[string]string{"Code": code, "Message": "of the test"}}))
		}
		return encode(answers), nil
	}
}

// executed passes all statements on, and answers some with an error all the same.
func executed(code string, fails func(i int) bool) mischief {
	return func(body []byte, pass func([]byte) []byte) ([]byte, error) {
		var answers responsesBody
		if err := json.Unmarshal(pass(body), &answers); err != nil {
			return nil, err
		}
		for i := range answers.Responses {
			if fails(i) {
				answers.Responses[i] = encode(map[string]any{"Error": map[string]string{"Code": code, "Message": "of the test"}})
			}
		}
		return encode(answers), nil
	}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
