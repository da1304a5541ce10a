package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/lambda-once/once/handlers/internal/digest"
	"github.com/lambda-once/once/idempotent"
)

// ChainAttribute is the name under which an [idempotent.ChainKey] travels: as
// a message attribute of SQS and SNS, a header of Kafka and RabbitMQ, a
// property of ActiveMQ, and a member of an EventBridge event's detail. It
// contains no '-', which names of JMS properties must not contain.
const ChainAttribute = "once_key"

// ChainAttributes returns the attributes of a message that a handler sends,
// with the [idempotent.ChainKey] of that name. Use one name for each message.
// [SQS] and other handlers take it for the message's key, so that a message
// that is sent twice has its effects once.
func ChainAttributes(ctx context.Context, name string) map[string]string {
	return map[string]string{ChainAttribute: idempotent.ChainKey(ctx, name)}
}

// ChainDetail adds the [idempotent.ChainKey] of that name to the detail of an
// event that a handler puts on a bus. See [DetailWithChain].
func ChainDetail(ctx context.Context, name string, detail []byte) ([]byte, error) {
	return DetailWithChain(detail, idempotent.ChainKey(ctx, name))
}

// ErrDetail matches errors of type [*DetailError].
var ErrDetail = errors.New("handlers: the detail cannot carry a chain key")

// DetailError reports that the detail of an event cannot carry a chain key. It
// quotes nothing of the detail.
type DetailError struct{ reason string }

func (e *DetailError) Error() string { return ErrDetail.Error() + ": " + e.reason }

// SafeText returns the whole text.
func (e *DetailError) SafeText() string { return e.Error() }

// Is reports whether target is ErrDetail.
func (e *DetailError) Is(target error) bool { return target == ErrDetail }

// DetailWithChain adds a chain key to the detail of an event, as its last
// member [ChainAttribute]. Everything else stays as it is, byte for byte. A
// detail that already contains this key is returned unchanged. DetailWithChain
// returns a [*DetailError] if the detail contains a different key or is not a JSON
// object, or if key is empty.
func DetailWithChain(detail []byte, key string) ([]byte, error) {
	found, members, reason := findChain(detail)
	switch {
	case key == "":
		reason = "the key is empty"
	case !utf8.Valid(detail):
		reason = "it is not UTF-8"
	case reason != "":
	case found == key:
		return bytes.Clone(detail), nil
	case found != "":
		reason = "its member " + ChainAttribute + " is another key"
	}
	if reason != "" {
		return nil, &DetailError{reason}
	}
	member, err := json.Marshal(map[string]string{ChainAttribute: key})
	if err != nil {
		panic(err) // texts always marshal
	}
	end := bytes.LastIndexByte(detail, '}')
	added := bytes.Clone(detail[:end])
	if members > 0 {
		added = append(added, ',')
	}
	added = append(added, member[1:len(member)-1]...)
	return append(added, detail[end:]...), nil
}

// Reasons why a detail has no chain key, and cannot get one.
const (
	notObject = "it is not a JSON object"
	notText   = "its member " + ChainAttribute + " is not a text, or occurs twice"
)

// findChain returns the chain key in a detail, or "", and the number of members. It does
// not decode into a struct, whose fields match names in any case.
func findChain(detail []byte) (key string, members int, reason string) {
	decoder := json.NewDecoder(bytes.NewReader(detail))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') || !json.Valid(detail) {
		return "", 0, notObject
	}
	for ; decoder.More(); members++ {
		var value json.RawMessage
		name, err := decoder.Token()
		if err != nil || decoder.Decode(&value) != nil {
			return "", 0, notObject
		}
		if name == ChainAttribute && (key != "" || json.Unmarshal(value, &key) != nil || key == "") {
			return "", 0, notText
		}
	}
	return key, members, ""
}

// eventChain returns the chain key in the detail of an event. A detail that is
// no object, as the input of a schedule may be, contains none.
func eventChain(detail []byte) (string, error) {
	key, _, reason := findChain(detail)
	if reason == notText {
		return "", &ShapeError{reason}
	}
	return key, nil
}

// chainID returns the key of a message that carries a chain key. It has no
// scope: a message that is sent twice may arrive by two routes.
//
// Bodies are compared. Otherwise a handler that sends several messages under
// one name, as in a loop, would lose all but the first without a trace.
func chainID(chain string, text []byte) idempotent.Key {
	kind, body := digest.Body(text, digest.LooksLikeJSON(text))
	return idempotent.Key{ID: chain, Fingerprint: digest.Of(kind, body)}
}
