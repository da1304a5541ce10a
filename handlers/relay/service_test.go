package relay_test

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/relay"
	"github.com/lambda-once/once/handlers/relay/eventbridgepublisher"
	"github.com/lambda-once/once/handlers/relay/snspublisher"
	"github.com/lambda-once/once/handlers/relay/sqspublisher"
	"github.com/lambda-once/once/idempotent/driver"
)

// sent is an entry as a service received it.
type sent struct {
	ID                     string `json:"Id"`
	MessageBody            string
	MessageGroupID         string `json:"MessageGroupId"`
	MessageDeduplicationID string `json:"MessageDeduplicationId"`
	MessageAttributes      map[string]struct{ DataType, StringValue string }
	Detail                 string
	DetailType, Source     string
}

func (m sent) body() string { return m.MessageBody + m.Detail }

// service stands in for SQS, SNS and EventBridge, in their protocols. The bodies of
// messages decide which are refused, or missing in the response.
type service struct {
	client *http.Client
	url    string

	requests    []string // their bodies
	calls       [][]sent
	destination string
	down        bool
}

const refusedBody, forgottenBody = `{"refuse":true}`, `{"forget":true}`

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.client, s.url = server.Client(), server.URL
	return s
}

func (s *service) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	text, err := io.ReadAll(in.Body)
	if err != nil || s.down {
		http.Error(out, "down", http.StatusForbidden) // which the SDK does not retry
		return
	}
	s.requests = append(s.requests, string(text))
	target := in.Header.Get("X-Amz-Target")
	if target == "" {
		s.topic(out, text)
		return
	}
	var call struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []struct {
			sent
			EventBusName string
		}
	}
	if err := json.Unmarshal(text, &call); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	s.destination = strings.TrimPrefix(call.QueueURL, s.url+"/")
	var entries []sent
	for _, e := range call.Entries {
		entries = append(entries, e.sent)
		s.destination = cmp.Or(e.EventBusName, s.destination)
	}
	s.calls = append(s.calls, entries)
	answer := map[string]any{}
	out.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch target {
	case "AmazonSQS.SendMessageBatch":
		answer["Successful"], answer["Failed"] = sorted(entries)
	case "AWSEvents.PutEvents":
		answer["Entries"] = put(entries)
	}
	_ = json.NewEncoder(out).Encode(answer)
}

// result is one of an entry, in the answers of SQS and SNS.
type result struct {
	ID               string `json:"Id" xml:"Id"`
	MessageID        string `json:"MessageId,omitempty" xml:"MessageId,omitempty"`
	MD5OfMessageBody string `json:",omitempty" xml:",omitempty"` // the SDK checks it
	Code             string `json:",omitempty" xml:",omitempty"`
	Message          string `json:",omitempty" xml:",omitempty"`
	SenderFault      bool
}

// sorted returns the results by what became of the message, in another order than that of the call.
func sorted(entries []sent) (successful, failed []result) {
	for i := len(entries) - 1; i >= 0; i-- {
		sum := md5.Sum([]byte(entries[i].MessageBody))
		switch id := entries[i].ID; entries[i].body() {
		case refusedBody:
			failed = append(failed, result{ID: id, Code: "InvalidMessageContents", Message: "secret", SenderFault: true})
		case forgottenBody:
		default:
			successful = append(successful, result{ID: id, MessageID: "m", MD5OfMessageBody: hex.EncodeToString(sum[:])})
		}
	}
	return successful, failed
}

// topic answers PublishBatch, which SNS takes as a form.
func (s *service) topic(out http.ResponseWriter, text []byte) {
	form, err := url.ParseQuery(string(text))
	if err != nil || form.Get("Action") != "PublishBatch" {
		http.Error(out, "no batch", http.StatusBadRequest)
		return
	}
	var entries []sent
	for i := 1; ; i++ {
		at := fmt.Sprintf("PublishBatchRequestEntries.member.%d.", i)
		if form.Get(at+"Id") == "" {
			break
		}
		e := sent{ID: form.Get(at + "Id"), MessageBody: form.Get(at + "Message"), MessageGroupID: form.Get(at + "MessageGroupId"),
			MessageDeduplicationID: form.Get(at + "MessageDeduplicationId"), MessageAttributes: map[string]struct{ DataType, StringValue string }{}}
		for j := 1; form.Has(at + "MessageAttributes.entry." + strconv.Itoa(j) + ".Name"); j++ {
			of := at + "MessageAttributes.entry." + strconv.Itoa(j) + "."
			e.MessageAttributes[form.Get(of+"Name")] = struct{ DataType, StringValue string }{form.Get(of + "Value.DataType"), form.Get(of + "Value.StringValue")}
		}
		entries = append(entries, e)
	}
	s.calls, s.destination = append(s.calls, entries), form.Get("TopicArn")
	var answer struct {
		XMLName    xml.Name `xml:"PublishBatchResponse"`
		Successful []result `xml:"PublishBatchResult>Successful>member"`
		Failed     []result `xml:"PublishBatchResult>Failed>member"`
	}
	answer.Successful, answer.Failed = sorted(entries)
	_ = xml.NewEncoder(out).Encode(answer)
}

// put returns the results of events, in their order.
func put(entries []sent) (all []map[string]string) {
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Detail, refusedBody[:len(refusedBody)-1]):
			all = append(all, map[string]string{"ErrorCode": "InvalidMessageContents", "ErrorMessage": "secret"})
		case strings.HasPrefix(e.Detail, forgottenBody[:len(forgottenBody)-1]):
			all = append(all, map[string]string{})
		default:
			all = append(all, map[string]string{"EventId": "e"})
		}
	}
	return all
}

// credentials are those of every local server.
var credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
})

func (s *service) queue(name string) relay.Publisher {
	return sqspublisher.New(sqs.New(sqs.Options{BaseEndpoint: &s.url, HTTPClient: s.client, Region: "eu-central-1", Credentials: credentials}), s.url+"/"+name)
}

func (s *service) topicOf(arn string) relay.Publisher {
	return snspublisher.New(sns.New(sns.Options{BaseEndpoint: &s.url, HTTPClient: s.client, Region: "eu-central-1", Credentials: credentials}), arn)
}

func (s *service) bus(name, source string) relay.Publisher {
	return eventbridgepublisher.New(eventbridge.New(eventbridge.Options{BaseEndpoint: &s.url, HTTPClient: s.client, Region: "eu-central-1", Credentials: credentials}), name, source)
}

// publishers are the three, to one service.
func (s *service) publishers() map[string]relay.Publisher {
	return map[string]relay.Publisher{"SQS": s.queue("orders"), "SNS": s.topicOf("orders"), "EventBridge": s.bus("orders", "shop")}
}

// batch returns a message for each body, as the relay makes them.
func batch(bodies ...string) (messages []driver.OutboxMessage) {
	for i, body := range bodies {
		id := fmt.Sprintf("id-%d", i)
		messages = append(messages, driver.OutboxMessage{ID: id, Aggregate: fmt.Sprint("order-", i), Destination: "orders", Type: "placed",
			Body: []byte(body), Attributes: map[string]string{handlers.ChainAttribute: id}})
	}
	return messages
}
