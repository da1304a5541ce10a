package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
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
	listener net.Listener
	server   http.Server
	serving  sync.WaitGroup
	target   string // a URL
	client   http.Client

	mu    sync.Mutex
	usage Usage
	err   error // the first
}

// NewMeter starts a meter in front of target, which is a URL.
func NewMeter(target string) (*Meter, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &Meter{listener: listener, target: target, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	m.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := m.relay(w, r); err != nil {
			m.add(Usage{}, err)
			http.Error(w, "the meter failed", http.StatusBadGateway)
		}
	})
	m.serving.Go(func() {
		if err := m.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			m.add(Usage{}, err)
		}
	})
	return m, nil
}

// Endpoint returns the URL of the proxy.
func (m *Meter) Endpoint() string { return "http://" + m.listener.Addr().String() }

// Close stops the meter.
func (m *Meter) Close() error {
	err := m.server.Close()
	m.serving.Wait()
	m.client.CloseIdleConnections()
	return err
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

// relay sends a request on, with one more member. DynamoDB Local checks no
// signature.
func (m *Meter) relay(w http.ResponseWriter, r *http.Request) error {
	var body map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	body["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, m.target+r.URL.Path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header = r.Header.Clone()
	request.Header.Set("Accept-Encoding", "identity")
	answer, err := m.client.Do(request)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	u, err := price(operation, said)
	m.add(u, err)
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, err = w.Write(said)
	return err
}
