package sqslocal_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/local/sqslocal"
)

func TestNewQueue(t *testing.T) {
	client, q := sqslocal.NewQueue(t, &sqslocal.QueueOptions{MaxReceiveCount: 2, VisibilityTimeout: time.Second})
	if want := "arn:aws:sqs:us-east-1:123456789012:TestNewQueue"; q.ARN != want {
		t.Errorf("ARN %q, want %q", q.ARN, want)
	}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.URL, MessageBody: aws.String("hello")}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, url := range []string{q.URL, q.URL, q.DeadLetterURL} {
		if got := receive(t, client, url); got != "hello" {
			t.Errorf("%s delivers %q", url, got)
		}
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
	if *one.Options().BaseEndpoint == *other.Options().BaseEndpoint {
		t.Error("two queues share a server")
	}
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
	if listens(endpoint) {
		t.Errorf("%s outlived its test", endpoint)
	}
}

func TestRefusesWhatTheServerWouldMisread(t *testing.T) {
	s, err := sqslocal.Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, o := range []sqslocal.QueueOptions{
		{VisibilityTimeout: 1500 * time.Millisecond}, {VisibilityTimeout: -time.Second}, {MaxReceiveCount: -1}, {MaxReceiveCount: 1001},
	} {
		if _, err := s.CreateQueue(t.Context(), "q", &o); err == nil {
			t.Errorf("took %+v", o)
		}
	}
	if got := s.Env()[0]; got != "AWS_ENDPOINT_URL_SQS="+s.Endpoint() {
		t.Errorf("environment %q", got)
	}
}

func listens(endpoint string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
