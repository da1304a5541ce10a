package recorditem

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
)

// Item returns the item of a record, without its result. The item lacks the fields
// that the record lacks.
func (f *Format) Item(r driver.Record) map[string]types.AttributeValue {
	item := f.Key(r.ID)
	item[f.Attr.Status] = Status(r.Status)
	if r.Owner != "" {
		item[f.Attr.Owner] = attribute.Text(r.Owner)
	}
	if r.Attempt != 0 {
		item[f.Attr.Attempt] = attribute.Number(r.Attempt)
	}
	if r.Refunds != 0 {
		item[f.Attr.Refunds] = attribute.Number(r.Refunds)
	}
	if r.Fingerprint != "" {
		item[f.Attr.Validation] = attribute.Text(r.Fingerprint)
	}
	if !r.Lease.IsZero() {
		item[f.Attr.Lease] = attribute.Millis(r.Lease)
	}
	if !r.Expires.IsZero() {
		item[f.Attr.Expiration] = attribute.Seconds(r.Expires)
	}
	if !r.Began.IsZero() {
		item[f.Attr.Began] = attribute.Millis(r.Began)
	}
	if r.Request != nil {
		item[f.Attr.Request] = f.Step(r.Request)
	}
	if r.Status == driver.InProgress {
		// A step is an update of a path into this map, which needs it.
		item[f.Attr.Steps] = noSteps
	} else if text := r.Ended.Encode(); text != "" {
		item[f.Attr.Ended] = attribute.Text(text)
	}
	return item
}

// The values that most items share. Nothing changes them.
var (
	inProgress = attribute.Text(string(driver.InProgress))
	completed  = attribute.Text(string(driver.Completed))
	noSteps    = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
)

// Status returns the attribute value of a status.
func Status(s driver.Status) types.AttributeValue {
	switch s {
	case driver.InProgress:
		return inProgress
	case driver.Completed:
		return completed
	default:
		return attribute.Text(string(s))
	}
}

// Steps returns the attribute value of the results of steps by their names.
func (f *Format) Steps(steps map[string][]byte) *types.AttributeValueMemberM {
	m := make(map[string]types.AttributeValue, len(steps))
	for name, data := range steps {
		m[name] = f.Step(data)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// CheckTimes returns an error for times that Record does not accept. The zero
// time is absent.
func CheckTimes(lease, expires, began time.Time) error {
	if !lease.IsZero() && (lease.UnixMilli() < 0 || lease.UnixMilli() > MaxMillis) {
		return errors.New("a lease that is not between the years 1970 and 9999")
	}
	if !began.IsZero() && (began.UnixMilli() < 0 || began.UnixMilli() > MaxMillis) {
		return errors.New("a beginning that is not between the years 1970 and 9999")
	}
	if !expires.IsZero() && (expires.Unix() < 0 || expires.Unix() > MaxSeconds) {
		return errors.New("an expiration that is not between the years 1970 and 9999")
	}
	return nil
}
