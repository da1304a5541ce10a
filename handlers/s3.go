package handlers

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/digest"
	"github.com/lambda-once/once/idempotent"
)

// S3Event is an event of S3: records, or the s3:TestEvent with which it tests a
// new notification.
type S3Event struct {
	Records []events.S3EventRecord `json:"Records"`
	Event   string                 `json:"Event,omitempty"`
}

func (e S3Event) isTest() bool { return e.Event == "s3:TestEvent" && len(e.Records) == 0 }

// S3 handles notifications of a bucket. fn runs once per key. With a nil key,
// the key is a digest of the bucket's name, the object's decoded key, its
// version (or its ETag in a bucket without versions), the event's name and the
// sequencer. Events about tags and access lists have no sequencer and can occur
// again and again: their key contains the request's id and the event's time
// instead.
//
// Failures and duplicates are handled as in [SNS]. A test event is acknowledged.
func S3(x *idempotent.Executor, key func(events.S3EventRecord) (idempotent.Key, error), fn func(context.Context, events.S3EventRecord) error, o *EventOptions) func(context.Context, S3Event) error {
	b := newEventBatch(source{name: "s3", eventSources: []string{"aws:s3"}}, x, key, fn, o)
	return func(ctx context.Context, event S3Event) error {
		if event.isTest() {
			return nil
		}
		return b.handleAll(ctx, len(event.Records), func(i int) record[events.S3EventRecord] {
			e := event.Records[i]
			return record[events.S3EventRecord]{eventSource: e.EventSource, delivery: e, key: idempotent.Key{ID: s3ID(e)}, issued: e.EventTime}
		})
	}
}

// s3ID returns a digest, because an object's key alone may be as long as an ID
// may be.
func s3ID(r events.S3EventRecord) string {
	object := r.S3.Object
	if r.S3.Bucket.Name == "" || object.URLDecodedKey == "" || r.EventName == "" {
		return "" // the rest would be the same for several events
	}
	which := "sequencer " + object.Sequencer
	if object.Sequencer == "" {
		request := r.ResponseElements["x-amz-request-id"]
		if request == "" {
			return ""
		}
		which = "request " + request + " at " + r.EventTime.UTC().Format(time.RFC3339Nano)
	}
	return digest.Of(r.S3.Bucket.Name, object.URLDecodedKey, cmp.Or(object.VersionID, object.ETag), r.EventName, which)
}
