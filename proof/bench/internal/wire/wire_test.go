package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestDelayedRoundTripTakesThatMuchLonger(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			_, _ = w.Write(body)
		}
	}))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	const by = 30 * time.Millisecond
	d, err := NewDelay(u.Host, by)
	if err != nil {
		t.Fatal(err)
	}
	transport, proxy := &http.Transport{}, "http://"+d.Addr()
	client := http.Client{Transport: transport}
	for i := range 3 {
		began, body := time.Now(), strings.Repeat("x", 100_000*i)
		res, err := client.Post(proxy, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		echo, err := io.ReadAll(res.Body)
		if took := time.Since(began); err != nil || string(echo) != body || took < by {
			t.Errorf("%d of %d bytes after %v, %v", len(echo), len(body), took, err)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := d.Close(); err != nil { // the client's connection is open
		t.Error(err)
	}
	if _, err := client.Get(proxy); err == nil {
		t.Error("a closed proxy responds")
	}
}

func TestMeterAddsUnitsOfEveryAnswer(t *testing.T) {
	answers := map[string]string{
		"DescribeTable": `{"Table":{}}`,
		"PutItem":       `{"ConsumedCapacity":{"CapacityUnits":3}}`,
		"GetItem":       `{"Item":{"id":{"S":"x"}},"ConsumedCapacity":{"CapacityUnits":0.5}}`,
		"BatchGetItem":  `{"ConsumedCapacity":[{"CapacityUnits":1},{"CapacityUnits":2}]}`,
		"UpdateItem":    `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":{"data":{"S":"` + strings.Repeat("x", 3000) + `"}}}`,
		"DeleteItem":    `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}`,
		"BatchExecuteStatement": `{"Responses":[{},{"Error":{"Code":"DuplicateItem"}},{"Error":{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"x"}}}}],
			"ConsumedCapacity":[{"CapacityUnits":4}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"ReturnConsumedCapacity":"TOTAL"`) || !strings.Contains(string(body), `"TableName":"t"`) {
			t.Errorf("%s, %v", body, err)
		}
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		fmt.Fprint(w, answers[operation])
	}))
	defer server.Close()
	m, err := NewMeter(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	for operation, want := range map[string]Usage{
		"DescribeTable":         {},
		"PutItem":               {Requests: 1, Write: 3},
		"GetItem":               {Requests: 1, Read: .5},
		"BatchGetItem":          {Requests: 1, Read: 3},
		"UpdateItem":            {Requests: 1, Refused: 3},
		"DeleteItem":            {Requests: 1, Unpriced: 1},
		"BatchExecuteStatement": {Requests: 1, Write: 4, Refused: 1, Unpriced: 1},
	} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, m.Endpoint(), strings.NewReader(`{"TableName":"t"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		res, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(res.Body)
		if err != nil || string(said) != answers[operation] || res.Body.Close() != nil {
			t.Errorf("%s: %s, %v", operation, said, err)
		}
		if got, err := m.Read(); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", operation, got, err, want)
		}
	}
}

// The sizes are those of DynamoDB's documentation.
func TestSizeOfItems(t *testing.T) {
	for text, want := range map[string]int{
		`{"id":{"S":"abc"}}`:                                5,
		`{"n":{"N":"1234"}}`:                                4,
		`{"b":{"B":"AAAAAA=="}}`:                            5,
		`{"l":{"L":[{"NULL":true},{"S":"xy"}]}}`:            1 + 3 + 2 + 1 + 2,
		`{"m":{"M":{"a":{"BOOL":true},"bc":{"S":""}}}}`:     1 + 3 + 2 + 1 + 1 + 2,
		`{"id":{"S":"ü"},"attempt":{"N":"1"},"x":{"M":{}}}`: 2 + 2 + 7 + 1 + 1 + 3,
	} {
		u, err := price("PutItem", []byte(`{"__type":"ConditionalCheckFailedException","Item":`+text+`}`))
		var i item
		if e := json.Unmarshal([]byte(text), &i); e != nil || err != nil {
			t.Fatal(e, err)
		}
		if got, err := i.size(); got != want || err != nil || u.Refused != 1 {
			t.Errorf("%s: %d, %v, want %d; %+v", text, got, err, want, u)
		}
	}
}
