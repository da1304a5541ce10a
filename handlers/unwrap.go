package handlers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// inner is what a body says that holds another source's event.
type inner struct {
	wraps bool
	id    string // natural key of the innermost event, "" if it has none
	skip  bool   // there is nothing in it to run for
	chain string // chain key, "" if there is none
	text  []byte // of the innermost body
}

type wrapper interface{ inner() inner }

// within looks into a body, which may be a pointer itself.
func within[T any](body *T) inner {
	w, ok := any(body).(wrapper)
	if !ok {
		w, ok = any(*body).(wrapper)
	}
	if !ok {
		return inner{}
	}
	return w.inner()
}

// in is what a message says whose body has said i: all that is innermost, but
// the outermost chain key. Whoever sent the message on has named it last.
func (i inner) in(message inner) inner {
	message.chain = cmp.Or(message.chain, i.chain)
	if !i.wraps {
		return message
	}
	i.chain = message.chain
	if i.text == nil {
		i.text = message.text
	}
	return i
}

// FromSNS is the body of a queue message that an SNS subscription without raw
// message delivery has sent. Its default key is the notification's MessageId,
// which stays the same when SNS sends again, or the key of what is wrapped once
// more, as in FromSNS[FromS3].
type FromSNS[T any] struct {
	Source events.SNSEntity `json:"source"`
	Body   T                `json:"body"`
}

var errEnvelope = &ShapeError{"it is an SNS notification: take FromSNS, or turn raw message delivery on"}

// refuseEnvelope keeps an envelope of SNS from being decoded into a type that
// has none of its fields: all of them would be zero, and the handler would run
// for nothing. Types that decode themselves know what they do.
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
			return nil // it may well be the envelope that is asked for
		}
	}
	var envelope struct{ Type, MessageId, TopicArn, Message *string }
	if json.Unmarshal(text, &envelope) != nil || envelope.TopicArn == nil || envelope.Message == nil || envelope.MessageId == nil ||
		envelope.Type == nil || *envelope.Type != "Notification" {
		return nil
	}
	return &DecodeError{Type: t.String(), Err: errEnvelope}
}

var errNotWrapped = &ShapeError{"it is no envelope of that source"}

// UnmarshalJSON decodes the envelope, and the message in it into T.
func (m *FromSNS[T]) UnmarshalJSON(text []byte) (err error) {
	if err := json.Unmarshal(text, &m.Source); err != nil {
		return err
	}
	if m.Source.MessageID == "" || m.Source.Type != "Notification" {
		return errNotWrapped // as with raw delivery: its fields are another's
	}
	m.Body, _, err = decodeBody[T]([]byte(m.Source.Message))
	return err
}

func (m *FromSNS[T]) inner() inner {
	return within(&m.Body).in(inner{
		wraps: true, id: m.Source.MessageID, chain: snsAttribute(m.Source, ChainAttribute), text: []byte(m.Source.Message),
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
		return errNotWrapped
	}
	if m.chain, err = eventChain(m.Source.Detail); err != nil {
		return err
	}
	m.Body, _, err = decodeBody[T](m.Source.Detail)
	return err
}

func (m *FromEventBridge[T]) inner() inner {
	return within(&m.Body).in(inner{wraps: true, id: m.Source.ID, chain: m.chain, text: m.Source.Detail})
}

// FromS3 is the body of a queue message that is a notification of S3. Its
// default key is made of those of its records, see [S3]. The message that S3
// sends when notifications are set up is acknowledged without running.
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
		return errNotWrapped
	}
	m.Records = event.Records
	return nil
}

func (m *FromS3) inner() inner {
	return inner{wraps: true, id: s3IDs(m.Records), skip: m.test}
}

// s3IDs is the id of one record, or that of all of several.
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
	return digestOf(ids...)
}
