package handlers

import (
	"context"
	"errors"

	"github.com/lambda-once/once/handlers/internal/digest"
	"github.com/lambda-once/once/handlers/internal/member"
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
	if key == "" {
		return nil, &DetailError{"the key is empty"}
	}
	added, problem := member.Add(detail, ChainAttribute, key)
	if problem != member.OK {
		return nil, &DetailError{detailReasons[problem]}
	}
	return added, nil
}

var detailReasons = map[member.Problem]string{
	member.NotObject: "it is not a JSON object",
	member.NotText:   "its member " + ChainAttribute + " is not a text, or occurs twice",
	member.Different: "its member " + ChainAttribute + " is another key",
}

// eventChain returns the chain key in the detail of an event. A detail that is
// no object, as the input of a schedule may be, contains none.
func eventChain(detail []byte) (string, error) {
	key, _, problem := member.Find(detail, ChainAttribute)
	if problem == member.NotText {
		return "", &ShapeError{detailReasons[problem]}
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
