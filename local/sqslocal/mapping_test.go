package sqslocal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/sqslocal"
)

func TestBatches(t *testing.T) {
	for name, test := range map[string]struct {
		mapping   sqslocal.Mapping
		gives     [][]types.Message
		want      []int // messages, batch by batch
		requested []int32
	}{
		"one receive, one invocation": {
			gives: [][]types.Message{numbered(0, 4), numbered(4, 14)},
			want:  []int{4, 10}, requested: []int32{10, 10, 10},
		},
		"nothing to give is no invocation": {
			gives: [][]types.Message{nil, numbered(0, 1), nil},
			want:  []int{1}, requested: []int32{10, 10, 10, 10},
		},
		"a small batch": {
			mapping: sqslocal.Mapping{BatchSize: 3},
			gives:   [][]types.Message{numbered(0, 3), numbered(3, 5)},
			want:    []int{3, 2}, requested: []int32{3, 3, 3},
		},
		"a window fills a batch": {
			mapping: sqslocal.Mapping{BatchSize: 25, Window: time.Minute},
			gives:   [][]types.Message{numbered(0, 10), numbered(10, 18), nil, numbered(18, 25), numbered(25, 27)},
			// The remaining messages are delivered too.
			want: []int{25, 2}, requested: []int32{10, 10, 7, 7, 10, 10},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{gives: test.gives}
			test.mapping.Invoke = answers(`{}`)
			batches, err := play(t, s, test.mapping)
			check.Must(t, err)
			var got []int
			total := 0
			for _, b := range batches {
				got = append(got, len(b.Messages))
				total += len(b.Messages)
			}
			var requested []int32
			for i, in := range s.receives {
				requested = append(requested, in.MaxNumberOfMessages)
				if i == 0 && (in.WaitTimeSeconds != 20 || in.MessageAttributeNames[0] != "All" || in.MessageSystemAttributeNames[0] != "All") {
					t.Errorf("received with %+v", in)
				}
			}
			check.Slice(t, got, test.want, "batches")
			check.Slice(t, requested, test.requested, "requested")
			check.Equal(t, len(s.deleted()), total, "deleted")
			for _, request := range s.deletes {
				check.True(t, len(request) <= 10, len(request), "messages in one request")
			}
		})
	}
}

// slow is a queue that takes as long as it is allowed to for the second answer.
type slow struct{ script }

func (s *slow) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	if len(s.receives) > 0 {
		time.Sleep(time.Duration(in.WaitTimeSeconds) * time.Second)
	}
	return s.script.ReceiveMessage(ctx, in, o...)
}

func TestWindowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &slow{script{gives: [][]types.Message{numbered(0, 1), nil, nil, nil}}}
		began := time.Now()
		m := sqslocal.Mapping{
			Client: s, QueueURL: "url", QueueARN: standard, MaximumConcurrency: 1, BatchSize: 100, Window: 30 * time.Second,
			Invoke: answers(``), Observe: func(sqslocal.Batch) { cancel() },
		}
		check.Must(t, m.Run(ctx))
		if took := time.Since(began); took < 29*time.Second || took > 30*time.Second {
			t.Errorf("a window of 30 s took %v", took)
		}
	})
}

func TestRunEndsWhenAllIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{gives: [][]types.Message{messages("a"), messages("b"), messages("c")}}
		inside, release := make(chan struct{}), make(chan struct{})
		var settled int
		m := sqslocal.Mapping{
			Client: s, QueueURL: "url", QueueARN: standard, MaximumConcurrency: 2,
			Observe: func(sqslocal.Batch) { settled++ },
			Invoke: func(ctx context.Context, _ []byte) (lambdaruntime.Response, error) {
				inside <- struct{}{}
				<-release
				return lambdaruntime.Response{}, ctx.Err()
			},
		}
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		<-inside
		<-inside
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Run returned during two invocations: %v", err)
		default:
		}
		close(release)
		check.Must(t, <-done)
		if settled != 2 || len(s.deleted()) != 2 || len(s.gives) != 1 {
			t.Errorf("%d settled, %q deleted, %d left", settled, s.deleted(), len(s.gives))
		}
	})
}

func TestAQueueThatCannotBeReceivedFrom(t *testing.T) {
	s := &script{gives: [][]types.Message{messages("a")}, receiveError: errDown}
	batches, err := play(t, s, sqslocal.Mapping{Invoke: answers(``), MaximumConcurrency: 3})
	var failed *sqslocal.ReceiveError
	if !errors.Is(err, errDown) || !errors.As(err, &failed) || failed.Queue != "url" {
		t.Errorf("Run returned %v", err)
	}
	check.Equal(t, len(batches), 1, "received messages were not handled")
	check.Equal(t, len(s.deleted()), 1, "received messages were not handled")
}

// once is a queue that fails one request.
type once struct {
	script
	failed atomic.Bool
}

func (o *once) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, opts ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	if o.failed.CompareAndSwap(false, true) {
		return nil, errDown
	}
	return o.script.ReceiveMessage(ctx, in, opts...)
}

// A mapping that lost a poller would only be slower, and nobody would notice.
func TestOnePollerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := sqslocal.Mapping{Client: new(once), QueueURL: "url", QueueARN: standard, Invoke: answers(``), MaximumConcurrency: 3}
		check.Is(t, m.Run(t.Context()), errDown, "Run")
	})
}

func TestConfigurations(t *testing.T) {
	valid := sqslocal.Mapping{Client: new(script), Invoke: answers(``), QueueARN: standard, QueueURL: "url"}
	for name, change := range map[string]func(*sqslocal.Mapping){
		"no client":                    func(m *sqslocal.Mapping) { m.Client = nil },
		"no function":                  func(m *sqslocal.Mapping) { m.Invoke = nil },
		"no queue":                     func(m *sqslocal.Mapping) { m.QueueURL = "" },
		"no ARN":                       func(m *sqslocal.Mapping) { m.QueueARN = "orders" },
		"a negative batch":             func(m *sqslocal.Mapping) { m.BatchSize = -1 },
		"too large a batch":            func(m *sqslocal.Mapping) { m.BatchSize, m.Window = 10_001, time.Second },
		"a large batch without window": func(m *sqslocal.Mapping) { m.BatchSize = 11 },
		"a large batch of a FIFO":      func(m *sqslocal.Mapping) { m.BatchSize, m.QueueARN = 11, fifo },
		"a window of a FIFO":           func(m *sqslocal.Mapping) { m.Window, m.QueueARN = time.Second, fifo },
		"a long window":                func(m *sqslocal.Mapping) { m.Window = time.Hour },
		"a negative concurrency":       func(m *sqslocal.Mapping) { m.MaximumConcurrency = -1 },
	} {
		m := valid
		change(&m)
		check.Failed(t, m.Run(t.Context()), name, "is taken")
	}
}
