package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

func TestParcelIsCommittedWithItsRecord(t *testing.T) {
	client, table := dynamodblocal.NewTable(t) // the key is id; the test's own items may be here as well
	store, err := dynamo.New(client, table, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := idempotent.New("ship-parcel", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	ship := idempotent.Wrap(x, parcelKey, func(ctx context.Context, p parcel) (string, error) {
		dynamo.Collect(ctx).Put(table, map[string]any{"id": p.ID, "to": p.To})
		return "label-1", nil
	})
	if _, err := ship(t.Context(), parcel{ID: "p-1", To: "Ada"}); err != nil {
		t.Fatal(err)
	}
	all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil || len(all.Items) != 2 {
		t.Errorf("%d items, want the record and the parcel: %v", len(all.Items), err)
	}
}

func TestCrashAfterTheChargeChargesOnce(t *testing.T) {
	client, records := dynamodblocal.NewTable(t)
	_, charges := dynamodblocal.NewTable(t)

	wire := lambdaruntime.NewWire()
	t.Cleanup(func() {
		if err := wire.Close(); err != nil {
			t.Error(err)
		}
	})
	endpoint, err := wire.To("dynamodb", os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	if err != nil {
		t.Fatal(err)
	}
	wire.KillAt(3, lambdaruntime.After) // the event, the claim, the charge
	function := lambdaruntime.StartTest(t, lambdaruntime.Function{
		Binary: lambdaruntime.BuildTest(t, "../..", "./payments"),
		Env: []string{
			"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
			"IDEMPOTENCY_TABLE=" + records, "PAYMENTS_TABLE=" + charges, "PAYMENTS_ID=downstream",
		},
		Timeout: 5 * time.Second,
		Wire:    wire,
	})

	event := []byte(`{"rawPath": "/payments", "headers": {"idempotency-key": "k"}, "requestContext": {"http": {"method": "POST"}},
		"body": "{\"amount\": 1299, \"currency\": \"EUR\", \"source\": \"card_1\"}"}`)
	var crashed *lambdaruntime.CrashedError
	if _, err := function.Invoke(t.Context(), event); !errors.As(err, &crashed) {
		t.Fatalf("the first attempt: %v", err)
	}
	var answer events.APIGatewayV2HTTPResponse
	for answer.StatusCode != 201 { // 409 until the lease has lapsed
		response, err := function.Invoke(t.Context(), event)
		if err != nil || response.FunctionError != nil {
			t.Fatal(err, response.FunctionError)
		}
		if err := json.Unmarshal(response.Payload, &answer); err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != 201 && answer.StatusCode != 409 {
			t.Fatalf("%d %s", answer.StatusCode, answer.Body)
		}
	}
	if call, ok := wire.Struck(); !ok || call.Operation != "PutItem" {
		t.Errorf("killed at %+v", call)
	}
	all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &charges})
	if err != nil || len(all.Items) != 1 {
		t.Errorf("%d charges, %v", len(all.Items), err)
	}
}
