package sqslocal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/sqslocal"
)

// decode requires that aws-lambda-go knows every member of the event.
func decode(t *testing.T, payload []byte) (e events.SQSEvent) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	check.Must(t, d.Decode(&e), payload)
	return e
}

func TestEvent(t *testing.T) {
	plain, rich := message("059f36b4-87a3-44ab-83d2-661975830a7d"), message("2e1424d4-f796-459a-8184-9c92662be6da")
	plain.Body = aws.String(`{"a":"<&>"}`)
	rich.MD5OfMessageAttributes = aws.String("582c92c5c5b6ac403040a4f3ab3115c9")
	rich.MessageAttributes = map[string]types.MessageAttributeValue{
		"Attribute1": {DataType: aws.String("String"), StringValue: aws.String("AttributeValue1")},
		"Attribute2": {DataType: aws.String("Number"), StringValue: aws.String("123")},
		"Attribute3": {DataType: aws.String("Binary"), BinaryValue: []byte("1100")},
	}
	const attributes = `"attributes":{"ApproximateFirstReceiveTimestamp":"1545082649185","ApproximateReceiveCount":"1","SenderId":"AIDAIENQZJOLO23YVJ4VO","SentTimestamp":"1545082649183"}`
	const source = `"md5OfBody":"md5","eventSource":"aws:sqs","eventSourceARN":"` + standard + `","awsRegion":"eu-west-1"}`
	want := `{"Records":[` +
		`{"messageId":"059f36b4-87a3-44ab-83d2-661975830a7d","receiptHandle":"handle-059f36b4-87a3-44ab-83d2-661975830a7d","body":"{\"a\":\"<&>\"}",` +
		attributes + `,"messageAttributes":{},` + source + `,` +
		`{"messageId":"2e1424d4-f796-459a-8184-9c92662be6da","receiptHandle":"handle-2e1424d4-f796-459a-8184-9c92662be6da","body":"body of 2e1424d4-f796-459a-8184-9c92662be6da",` +
		attributes + `,"messageAttributes":{` +
		`"Attribute1":{"stringValue":"AttributeValue1","stringListValues":[],"binaryListValues":[],"dataType":"String"},` +
		`"Attribute2":{"stringValue":"123","stringListValues":[],"binaryListValues":[],"dataType":"Number"},` +
		`"Attribute3":{"binaryValue":"MTEwMA==","stringListValues":[],"binaryListValues":[],"dataType":"Binary"}},` +
		`"md5OfMessageAttributes":"582c92c5c5b6ac403040a4f3ab3115c9",` + source + `]}`

	var got []byte
	_, err := play(t, &script{gives: [][]types.Message{{plain, rich}}}, sqslocal.Mapping{
		Invoke: func(_ context.Context, payload []byte) (lambdaruntime.Response, error) {
			got = payload
			return lambdaruntime.Response{}, nil
		},
	})
	check.Must(t, err)
	check.Equal(t, string(got), want)
	if e := decode(t, got); *e.Records[1].MessageAttributes["Attribute2"].StringValue != "123" || string(e.Records[1].MessageAttributes["Attribute3"].BinaryValue) != "1100" {
		t.Errorf("read as %+v", e)
	}
}
