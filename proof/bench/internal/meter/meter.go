// Package meter measures what requests to DynamoDB cost.
package meter

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/lambda-once/once/local/wire"
)

// Usage is what DynamoDB has been asked, and what that cost.
type Usage struct {
	Requests int
	// Write and Read are capacity units, as DynamoDB Local reports them.
	Write, Read float64
	// Refused are the write units of failed conditions: DynamoDB bills them as
	// writes of the items that they met. DynamoDB Local does not report them, so
	// they are computed from the returned items.
	Refused float64
	// Unpriced is the number of failed conditions that came without an item.
	Unpriced int
}

// A Meter is a proxy that asks for the capacity that every request consumes.
type Meter struct {
	*wire.Proxy

	mu    sync.Mutex
	usage Usage
	err   error // the first
}

// New starts a meter in front of target, which is a URL.
func New(target string) (*Meter, error) {
	m := &Meter{}
	var err error
	m.Proxy, err = wire.HTTP(target, func(r *wire.Request) (*wire.Response, error) {
		res, err := m.carry(r)
		if err != nil {
			m.add(Usage{}, err)
		}
		return res, err
	})
	return m, err
}

// Read returns the usage since the last call of Read.
func (m *Meter) Read() (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, err := m.usage, m.err
	m.usage, m.err = Usage{}, nil
	return u, err
}

func (m *Meter) add(u Usage, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Requests += u.Requests
	m.usage.Write += u.Write
	m.usage.Read += u.Read
	m.usage.Refused += u.Refused
	m.usage.Unpriced += u.Unpriced
	if m.err == nil {
		m.err = err
	}
}

// carry sends a request with one more member. DynamoDB Local checks no signature.
func (m *Meter) carry(r *wire.Request) (*wire.Response, error) {
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
	res, err := r.Send()
	if err != nil {
		return nil, err
	}
	u, err := price(r.Operation, res.Body)
	m.add(u, err)
	return res, nil
}
