// Package meter measures what requests to DynamoDB cost.
package meter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/lambda-once/once/internal/wire"
)

// A Meter is a proxy that asks for the capacity that every request consumes.
type Meter struct {
	*wire.Proxy

	mu          sync.Mutex
	write, read float64
	err         error
}

// New starts a meter in front of target, which is a URL.
func New(target string) (*Meter, error) {
	m := &Meter{}
	var err error
	m.Proxy, err = wire.HTTP(target, func(r *wire.Request) (*wire.Response, error) {
		res, err := carry(r)
		if err != nil {
			m.add(0, 0, err)
			return nil, err
		}
		m.add(price(r.Operation, res.Body))
		return res, nil
	})
	return m, err
}

// Read returns the capacity units since the last call of Read.
func (m *Meter) Read() (write, read float64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	write, read, err = m.write, m.read, m.err
	m.write, m.read, m.err = 0, 0, nil
	return write, read, err
}

func (m *Meter) add(write, read float64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.write, m.read, m.err = m.write+write, m.read+read, errors.Join(m.err, err)
}

// carry sends a request with one more member. DynamoDB Local checks no signature.
func carry(r *wire.Request) (*wire.Response, error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	body["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
	var err error
	if r.Body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "identity")
	return r.Send()
}

// price returns the write and read units that an operation consumed, by its answer.
// DynamoDB bills a failed condition as a write of the item that it met. DynamoDB Local
// does not report it, so it is computed from the returned item.
func price(operation string, said []byte) (write, read float64, err error) {
	var a struct {
		Type             string `json:"__type"`
		ConsumedCapacity struct{ CapacityUnits float64 }
		Item             item
	}
	if err := json.Unmarshal(said, &a); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", operation, err)
	}
	refused := strings.HasSuffix(a.Type, "ConditionalCheckFailedException")
	switch {
	case operation == "DescribeTable": // opens the connections of the bench; no call sends it
		return 0, 0, nil
	case operation == "GetItem":
		return 0, a.ConsumedCapacity.CapacityUnits, nil
	case operation != "PutItem" && operation != "UpdateItem", refused && len(a.Item) == 0:
		return 0, 0, fmt.Errorf("an answer to %s without a price: %q", operation, a.Type)
	case refused:
		return math.Ceil(float64(a.Item.size()) / 1024), 0, nil
	}
	return a.ConsumedCapacity.CapacityUnits, 0, nil
}

// item is an item, or a map, in DynamoDB's JSON.
type item map[string]value

type value struct {
	S, N string
	B    []byte
	M    item
	L    []value
	BOOL *bool
	NULL bool
}

// size is the size of the item as DynamoDB bills it.
func (i item) size() (size int) {
	for name, v := range i {
		size += len(name) + v.size()
	}
	return size
}

func (v value) size() int {
	size := len(v.S) + len(v.B) + v.M.size()
	if v.N != "" {
		size += len(v.N)/2 + 1
	}
	if v.BOOL != nil || v.NULL {
		size++
	}
	if v.M != nil || v.L != nil {
		size += 3 + len(v.M) + len(v.L)
	}
	for _, element := range v.L {
		size += element.size()
	}
	return size
}
