package handlers

import (
	"encoding/json"
	"errors"

	"github.com/aws/aws-lambda-go/events"
)

// wrapped is the body of a queue message that holds another source's event.
type wrapped interface {
	// innerID is the natural key of the inner event, "" if it has none.
	innerID() string
}

// FromSNS is the body of a queue message that an SNS subscription without raw
// message delivery has sent. Its default key is the notification's MessageId,
// which stays the same when SNS sends again.
type FromSNS[T any] struct {
	Source events.SNSEntity `json:"source"`
	Body   T                `json:"body"`
}

var errNotWrapped = errors.New("it is no envelope of that source")

// UnmarshalJSON decodes the envelope, and the message in it into T.
func (m *FromSNS[T]) UnmarshalJSON(text []byte) (err error) {
	if err := json.Unmarshal(text, &m.Source); err != nil {
		return err
	}
	if m.Source.MessageID == "" || m.Source.Type != "Notification" {
		return errNotWrapped // as with raw delivery: its fields are another's
	}
	m.Body, err = decodeBody[T]([]byte(m.Source.Message))
	return err
}

func (m *FromSNS[T]) innerID() string { return m.Source.MessageID }

// FromEventBridge is the body of a queue message that is an EventBridge event.
// Its default key is the event's id.
type FromEventBridge[T any] struct {
	Source events.EventBridgeEvent `json:"source"`
	Body   T                       `json:"body"`
}

// UnmarshalJSON decodes the event, and its detail into T.
func (m *FromEventBridge[T]) UnmarshalJSON(text []byte) (err error) {
	if err := json.Unmarshal(text, &m.Source); err != nil {
		return err
	}
	if m.Source.ID == "" || m.Source.DetailType == "" {
		return errNotWrapped
	}
	m.Body, err = decodeBody[T](m.Source.Detail)
	return err
}

func (m *FromEventBridge[T]) innerID() string { return m.Source.ID }

// FromS3 is the body of a queue message that is a notification of S3. Its
// default key is made of those of its records, see [S3]. The message that S3
// sends when notifications are set up is acknowledged without running.
type FromS3 struct {
	Records []events.S3EventRecord `json:"Records"`
}

// UnmarshalJSON decodes the notification.
func (m *FromS3) UnmarshalJSON(text []byte) error {
	var event S3Event
	if err := json.Unmarshal(text, &event); err != nil {
		return err
	}
	if event.isTest() {
		return errSkipped
	}
	if len(event.Records) == 0 {
		return errNotWrapped
	}
	m.Records = event.Records
	return nil
}

func (m *FromS3) innerID() string {
	ids := make([]string, len(m.Records))
	for i, r := range m.Records {
		if ids[i] = s3ID(r); ids[i] == "" {
			return ""
		}
	}
	if len(ids) == 1 {
		return ids[0]
	}
	return digestOf(ids...)
}
