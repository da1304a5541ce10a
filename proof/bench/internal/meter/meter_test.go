package meter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestMeterAddsUnitsOfEveryAnswer(t *testing.T) {
	answers := map[string]string{
		"DescribeTable": `{"Table":{}}`,
		"PutItem":       `{"ConsumedCapacity":{"CapacityUnits":3}}`,
		"GetItem":       `{"Item":{"id":{"S":"x"}},"ConsumedCapacity":{"CapacityUnits":0.5}}`,
		"UpdateItem":    `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":{"data":{"S":"` + strings.Repeat("x", 3000) + `"}}}`,
		"DeleteItem":    `{"ConsumedCapacity":{"CapacityUnits":3}}`,
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
	m, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	for operation, want := range map[string][2]float64{
		"DescribeTable": {},
		"PutItem":       {3, 0},
		"GetItem":       {0, .5},
		"UpdateItem":    {3, 0},
		"DeleteItem":    {}, // has no price, as no series sends it
	} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, m.URL(), strings.NewReader(`{"TableName":"t"}`))
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
		write, read, err := m.Read()
		if [2]float64{write, read} != want || (err != nil) != (operation == "DeleteItem") {
			t.Errorf("%s: %v, %v, %v, want %v", operation, write, read, err, want)
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
		write, _, err := price("PutItem", []byte(`{"__type":"ConditionalCheckFailedException","Item":`+text+`}`))
		var i item
		if e := json.Unmarshal([]byte(text), &i); e != nil || err != nil {
			t.Fatal(e, err)
		}
		if got := i.size(); got != want || write != 1 {
			t.Errorf("%s: %d, want %d; %v", text, got, want, write)
		}
	}
	if _, _, err := price("PutItem", []byte(`{"__type":"ConditionalCheckFailedException"}`)); err == nil {
		t.Error("a refusal without its item has a price")
	}
}
