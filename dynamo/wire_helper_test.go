package dynamo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// network is the way to DynamoDB Local. An operation may meet a fault on it.
type network struct {
	url string

	mu         sync.Mutex
	operations []string
	faults     map[string]wire.Carry
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{faults: map[string]wire.Carry{}}
	proxy, err := wire.HTTP(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), n.carry)
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, proxy.Close()) })
	n.url = proxy.URL()
	return n
}

func (n *network) carry(r *wire.Request) (*wire.Response, error) {
	n.mu.Lock()
	n.operations = append(n.operations, r.Operation)
	fault := n.faults[r.Operation]
	n.mu.Unlock()
	if fault == nil {
		return r.Send()
	}
	return fault(r)
}

// on puts a fault into the way of an operation; nil takes it away.
func (n *network) on(operation string, fault wire.Carry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults[operation] = fault
}

// sent returns the operations since the last time.
func (n *network) sent() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	sent := strings.Join(n.operations, " ")
	n.operations = nil
	return sent
}

// networked is a store in a new table, whose client repeats nothing by itself.
func networked(t *testing.T, o *Options, change ...func(*dynamodb.Options)) (*Store, *network) {
	t.Helper()
	_, table := newTable(t, nil)
	n := newNetwork(t)
	client := newClient(t, append([]func(*dynamodb.Options){func(o *dynamodb.Options) {
		o.BaseEndpoint, o.Retryer = &n.url, aws.NopRetryer{}
	}}, change...)...)
	return newStore(t, client, table, o), n
}

// intercepted is a store whose writes are shared by those who arrive together.
func intercepted(t *testing.T, change ...func(*dynamodb.Options)) (*Store, *network) {
	t.Helper()
	s, n := networked(t, nil, change...)
	s.limit(patient)
	return s, n
}

// unanswered loses the answer to a request.
func unanswered(r *wire.Request) (*wire.Response, error) {
	_, err := r.Send()
	return nil, errors.Join(wire.ErrCut, err)
}

// firstTimes applies a fault to the first n requests alone.
func firstTimes(n int64, fault wire.Carry) wire.Carry {
	var used atomic.Int64
	return func(r *wire.Request) (*wire.Response, error) {
		if used.Add(1) > n {
			return r.Send()
		}
		return fault(r)
	}
}

func firstTime(fault wire.Carry) wire.Carry { return firstTimes(1, fault) }

// sendAnd sends a request, decodes its answer into v, and answers with v after edit.
func sendAnd[T any](edit func(r *wire.Request, v *T) error) wire.Carry {
	return func(r *wire.Request) (*wire.Response, error) {
		res, err := r.Send()
		if err != nil {
			return nil, err
		}
		var v T
		if err := errors.Join(json.Unmarshal(res.Body, &v), edit(r, &v)); err != nil {
			return nil, err
		}
		return &wire.Response{Status: res.Status, Body: encode(v)}, nil
	}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// inProcess answers requests without a network, so that time may be that of synctest.
type inProcess wire.Carry

func (f inProcess) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	res, err := f(&wire.Request{Context: r.Context(), Operation: operation, Header: r.Header})
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}}
	return &http.Response{StatusCode: res.Status, Header: header, Body: io.NopCloser(bytes.NewReader(res.Body))}, nil
}

// wireClient is a real client whose requests end in this process.
func wireClient(answer wire.Carry, change ...func(*dynamodb.Options)) *dynamodb.Client {
	o := clientOptions("https://dynamodb.test")
	o.HTTPClient, o.Retryer = inProcess(answer), aws.NopRetryer{}
	return dynamodb.New(o, change...)
}

func answering(status int, body string) wire.Carry {
	return func(*wire.Request) (*wire.Response, error) {
		return &wire.Response{Status: status, Body: []byte(body)}, nil
	}
}

func refusing(status int, code, message string) wire.Carry {
	return answering(status, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message))
}

func failing(err error) wire.Carry {
	return func(*wire.Request) (*wire.Response, error) { return nil, err }
}
