package sqslocal_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/sqslocal"
)

func TestNewQueue(t *testing.T) {
	client, q := sqslocal.NewQueue(t, &sqslocal.QueueOptions{MaxReceiveCount: 2, VisibilityTimeout: time.Second})
	check.Equal(t, q.ARN, "arn:aws:sqs:us-east-1:123456789012:TestNewQueue", "ARN")
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("hello")}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, url := range []string{q.URL, q.URL, q.DeadLetterURL} {
		check.Equal(t, receive(t, client, url), "hello", url)
	}
	// Twice hidden for a second.
	if waited := time.Since(began); waited < 2*time.Second {
		t.Errorf("received too often after %v", waited)
	}
	out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL})
	if err != nil || len(out.Messages) > 0 {
		t.Errorf("left in the queue: %v, %v", out, err)
	}
}

func TestServersAreApart(t *testing.T) {
	one, q := sqslocal.NewQueue(t, nil)
	other, _ := sqslocal.NewQueue(t, nil)
	check.Differ(t, *one.Options().BaseEndpoint, *other.Options().BaseEndpoint, "two queues share a server")
	if _, err := one.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("m")}); err != nil {
		t.Fatal(err)
	}
	out, err := other.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.URL})
	if err != nil || len(out.Messages) > 0 {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestTheServerGoesWithTheTest(t *testing.T) {
	var endpoint string
	t.Run("inner", func(t *testing.T) {
		client, _ := sqslocal.NewQueue(t, nil)
		endpoint = *client.Options().BaseEndpoint
	})
	check.False(t, listens(endpoint), endpoint, "outlived its test")
}

func TestRefusesWhatTheServerWouldMisread(t *testing.T) {
	s, err := sqslocal.Start(t.Context(), nil)
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, s.Stop()) })
	for _, o := range []sqslocal.QueueOptions{
		{VisibilityTimeout: 1500 * time.Millisecond}, {VisibilityTimeout: -time.Second}, {MaxReceiveCount: -1}, {MaxReceiveCount: 1001},
	} {
		if _, err := s.CreateQueue(t.Context(), "q", &o); err == nil {
			t.Errorf("took %+v", o)
		}
	}
	check.Equal(t, s.Env()[0], "AWS_ENDPOINT_URL_SQS="+s.Endpoint(), "environment")
}

func listens(endpoint string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
