package handlers_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// Tags of one version of an object can change several times, and their events
// have no sequencer.
func TestS3EventsWithoutSequencerDiffer(t *testing.T) {
	n := 0
	handler := handlers.S3(newExecutor(t, memory.New(0), nil), nil, func(context.Context, events.S3EventRecord) error { n++; return nil }, &handlers.EventOptions{OnFailure: quiet})
	tagged := func(request string) []byte {
		return []byte(`{"Records":[{"eventSource":"aws:s3","eventTime":"2026-08-01T00:00:00.000Z","eventName":"ObjectTagging:Put","responseElements":{` + request + `},"s3":{"bucket":{"name":"b"},"object":{"key":"k","eTag":"e","versionId":"v1"}}}]}`)
	}
	for _, request := range []string{"R1", "R2", "R1", "R2"} {
		_, err := deliver(t.Context(), handler, tagged(`"x-amz-request-id":"`+request+`"`))
		check.Must(t, err)
	}
	check.Equal(t, n, 2)
	_, err := deliver(t.Context(), handler, tagged(""))
	check.Is(t, err, idempotent.ErrMissingKey, "one that is the same as another")
}
