package sqslocal

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// event is the event as Lambda sends it, with its members in that order. The types of
// aws-lambda-go would write members that AWS omits.
type (
	event struct {
		Records []record `json:"Records"`
	}
	record struct {
		MessageID              string               `json:"messageId"`
		ReceiptHandle          string               `json:"receiptHandle"`
		Body                   string               `json:"body"`
		Attributes             map[string]string    `json:"attributes"`
		MessageAttributes      map[string]attribute `json:"messageAttributes"`
		MD5OfMessageAttributes string               `json:"md5OfMessageAttributes,omitempty"`
		MD5OfBody              string               `json:"md5OfBody"`
		EventSource            string               `json:"eventSource"`
		EventSourceARN         string               `json:"eventSourceARN"`
		AWSRegion              string               `json:"awsRegion"`
	}
	attribute struct {
		StringValue      *string  `json:"stringValue,omitempty"`
		BinaryValue      []byte   `json:"binaryValue,omitempty"`
		StringListValues []string `json:"stringListValues"`
		BinaryListValues [][]byte `json:"binaryListValues"`
		DataType         string   `json:"dataType"`
	}
)

func newEvent(arn string, messages []types.Message) ([]byte, error) {
	var e event
	for _, m := range messages {
		r := record{
			MessageID:              aws.ToString(m.MessageId),
			ReceiptHandle:          aws.ToString(m.ReceiptHandle),
			Body:                   aws.ToString(m.Body),
			Attributes:             m.Attributes,
			MessageAttributes:      map[string]attribute{},
			MD5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes),
			MD5OfBody:              aws.ToString(m.MD5OfBody),
			EventSource:            "aws:sqs",
			EventSourceARN:         arn,
			AWSRegion:              strings.Split(arn, ":")[3],
		}
		for name, a := range m.MessageAttributes {
			r.MessageAttributes[name] = attribute{
				StringValue: a.StringValue, BinaryValue: a.BinaryValue, DataType: aws.ToString(a.DataType),
				StringListValues: []string{}, BinaryListValues: [][]byte{}, // SQS has none yet; never null
			}
		}
		e.Records = append(e.Records, r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
