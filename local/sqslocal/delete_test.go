package sqslocal_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/sqslocal"
)

var errDown = errors.New("the queue is down")

func TestDeleting(t *testing.T) {
	refusal := func(id *string, senderFault bool) *types.BatchResultErrorEntry {
		return &types.BatchResultErrorEntry{Id: id, Code: aws.String("C"), Message: aws.String("m"), SenderFault: senderFault}
	}
	second := func(e types.DeleteMessageBatchRequestEntry) bool { return *e.ReceiptHandle == "handle-b" }
	for name, test := range map[string]struct {
		script    *script
		requests  int
		undeleted int
		retried   bool // of b alone
	}{
		"fails once": {
			script: &script{fail: func(n int) error {
				if n == 0 {
					return errDown
				}
				return nil
			}},
			requests: 2,
		},
		"fails for good": {
			script:   &script{fail: func(int) error { return errDown }},
			requests: 3, undeleted: 3,
		},
		"one is refused once": {
			script: &script{refuse: func(n int, e types.DeleteMessageBatchRequestEntry) *types.BatchResultErrorEntry {
				if n == 0 && second(e) {
					return refusal(e.Id, false)
				}
				return nil
			}},
			requests: 2, retried: true,
		},
		"one is refused for good": {
			script: &script{refuse: func(_ int, e types.DeleteMessageBatchRequestEntry) *types.BatchResultErrorEntry {
				if second(e) {
					return refusal(e.Id, false)
				}
				return nil
			}},
			requests: 3, undeleted: 1, retried: true,
		},
		"one is our fault": {
			script: &script{refuse: func(_ int, e types.DeleteMessageBatchRequestEntry) *types.BatchResultErrorEntry {
				if second(e) {
					return refusal(e.Id, true)
				}
				return nil
			}},
			requests: 1, undeleted: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.script
			s.gives = [][]types.Message{messages("a", "b", "c")}
			batches, err := play(t, s, sqslocal.Mapping{Invoke: answers(``)})
			check.Equal(t, len(s.deletes), test.requests, "requests", s.deletes)
			if test.retried && !slices.Equal(s.deletes[1], []string{"handle-b"}) {
				t.Errorf("retried %q", s.deletes[1])
			}
			if len(batches) != 1 || len(batches[0].Undeleted) != test.undeleted || len(batches[0].Failed) != 0 {
				t.Errorf("observed %+v", batches)
			}
			var undeleted *sqslocal.DeleteError
			if got := errors.As(err, &undeleted); got != (test.undeleted > 0) {
				t.Fatalf("Run returned %v", err)
			}
			if test.undeleted == 1 && (undeleted.MessageID != "b" || undeleted.Code != "C" || undeleted.Reason != "m") {
				t.Errorf("Run returned %+v", undeleted)
			}
			if test.undeleted == 3 && !errors.Is(err, errDown) {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}
