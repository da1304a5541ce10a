package handlers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers/internal/digest"
)

// message describes a record, or an event in its body.
type message struct {
	envelope bool   // it contains a message
	id       string // natural key, or ""
	skip     bool   // there is nothing to run the handler for
	chain    string // chain key, or ""
	text     []byte // the body
	zero     string // the type of the body if it is the zero value, or ""
	// issued is when it was made, or the zero time.
	issued time.Time
}

// envelope is a body that contains an event of its own source.
type envelope interface{ message() message }

// messageIn looks for an envelope in a body, which may be a pointer itself.
func messageIn[T any](body *T) message {
	e, ok := any(body).(envelope)
	if !ok {
		e, ok = any(*body).(envelope)
	}
	if !ok {
		return message{}
	}
	return e.message()
}

// within combines m with the message that contains it: everything is the
// innermost, except the chain key, which is the last sender's.
func (m message) within(outer message) message {
	outer.chain = cmp.Or(outer.chain, m.chain)
	if !m.envelope {
		return outer
	}
	m.chain = outer.chain
	if m.issued.IsZero() {
		m.issued = outer.issued
	}
	if m.text == nil {
		m.text = outer.text
	}
	return m
}

// FromSNS is the body of a queue message that an SNS subscription without raw
// message delivery has sent. Its default key is the notification's MessageId,
// which stays the same when SNS sends again, or the key of an event inside it,
// as in FromSNS[FromS3].
type FromSNS[T any] struct {
	Source events.SNSEntity `json:"source"`
	Body   T                `json:"body"`
}

const aNotification = "an SNS notification: use FromSNS, or enable raw message delivery"

var errNotification = &ShapeError{"it is " + aNotification}

// refuseEnvelope refuses an SNS notification for a type with none of its
// fields: all of them would be zero, and the handler would run for nothing.
// Types that decode themselves are exempt.
func refuseEnvelope(t reflect.Type, text []byte) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || !bytes.Contains(text, []byte(`"TopicArn"`)) {
		return nil
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if t.Field(i).Anonymous || strings.EqualFold(cmp.Or(name, t.Field(i).Name), "TopicArn") {
			return nil // the handler may well want the notification
		}
	}
	if !isNotification(text) {
		return nil
	}
	return &DecodeError{Type: t.String(), Err: errNotification}
}

// isNotification reports whether a body is a notification of SNS.
func isNotification(text []byte) bool {
	var n struct{ Type, MessageId, TopicArn, Message *string }
	return json.Unmarshal(text, &n) == nil && n.TopicArn != nil && n.Message != nil && n.MessageId != nil && n.Type != nil && *n.Type == "Notification"
}

// zeroType returns the type of a body that is the zero value, or "".
func zeroType[T any](body T) string {
	if !reflect.ValueOf(&body).Elem().IsZero() {
		return ""
	}
	return reflect.TypeFor[T]().String()
}

var errNotEnvelope = &ShapeError{"it is not an event of that source"}

// UnmarshalJSON decodes the notification, and the message in it into T.
func (m *FromSNS[T]) UnmarshalJSON(text []byte) (err error) {
	if err := json.Unmarshal(text, &m.Source); err != nil {
		return err
	}
	if m.Source.MessageID == "" || m.Source.Type != "Notification" {
		return errNotEnvelope // as with raw delivery: the fields are another type's
	}
	m.Body, _, err = decodeBody[T]([]byte(m.Source.Message))
	return err
}

func (m *FromSNS[T]) message() message {
	return messageIn(&m.Body).within(message{
		envelope: true, id: m.Source.MessageID, chain: snsAttribute(m.Source, ChainAttribute), text: []byte(m.Source.Message), zero: zeroType(m.Body),
		issued: m.Source.Timestamp,
	})
}

// FromEventBridge is the body of a queue message that is an EventBridge event.
// Its default key is the event's id.
type FromEventBridge[T any] struct {
	Source events.EventBridgeEvent `json:"source"`
	Body   T                       `json:"body"`

	chain string
}

// UnmarshalJSON decodes the event, and its detail into T.
func (m *FromEventBridge[T]) UnmarshalJSON(text []byte) (err error) {
	if err := json.Unmarshal(text, &m.Source); err != nil {
		return err
	}
	if m.Source.ID == "" || m.Source.DetailType == "" {
		return errNotEnvelope
	}
	if m.chain, err = eventChain(m.Source.Detail); err != nil {
		return err
	}
	m.Body, _, err = decodeBody[T](m.Source.Detail)
	return err
}

func (m *FromEventBridge[T]) message() message {
	return messageIn(&m.Body).within(message{
		envelope: true, id: m.Source.ID, chain: m.chain, text: m.Source.Detail, zero: zeroType(m.Body),
		issued: m.Source.Time,
	})
}

// FromS3 is the body of a queue message that is a notification of S3. Its
// default key is made of those of its records, see [S3]. The s3:TestEvent that
// S3 sends when notifications are configured is acknowledged without running.
type FromS3 struct {
	Records []events.S3EventRecord `json:"Records"`

	test bool
}

// UnmarshalJSON decodes the notification.
func (m *FromS3) UnmarshalJSON(text []byte) error {
	var event S3Event
	if err := json.Unmarshal(text, &event); err != nil {
		return err
	}
	if m.test = event.isTest(); !m.test && len(event.Records) == 0 {
		return errNotEnvelope
	}
	m.Records = event.Records
	return nil
}

func (m *FromS3) message() message {
	inner := message{envelope: true, id: s3IDs(m.Records), skip: m.test}
	for _, r := range m.Records {
		if r.EventTime.After(inner.issued) { // the id is that of all, so it is no older than the last
			inner.issued = r.EventTime
		}
	}
	return inner
}

// s3IDs returns the id of one record, or a digest of the ids of several.
func s3IDs(records []events.S3EventRecord) string {
	ids := make([]string, len(records))
	for i, r := range records {
		if ids[i] = s3ID(r); ids[i] == "" {
			return ""
		}
	}
	if len(ids) == 1 {
		return ids[0]
	}
	return digest.Of(ids...)
}
