package handlers

import (
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/idempotent"
)

// chainID is the key of a message that carries a chain key. It has no scope:
// what is sent twice may come on two ways.
//
// Bodies are compared. A handler that sends several messages under one name,
// as in a loop, would otherwise lose all but the first, without a trace.
func chainID(chain string, text []byte) idempotent.Key {
	kind, body := bodyFingerprint(text, looksLikeJSON(text))
	return idempotent.Key{ID: chain, Fingerprint: digestOf(kind, body)}
}

func sqsAttribute(m events.SQSMessage, name string) string {
	if value := m.MessageAttributes[name].StringValue; value != nil {
		return *value
	}
	return ""
}

func snsAttribute(m events.SNSEntity, name string) string {
	attribute, _ := m.MessageAttributes[name].(map[string]any)
	value, _ := attribute["Value"].(string)
	return value
}

// kafkaHeader is the last of that name.
func kafkaHeader(r events.KafkaRecord, name string) (value string) {
	for _, header := range r.Headers {
		if v, ok := header[name]; ok {
			value = string(v)
		}
	}
	return value
}

// chain reads the header of a request whose sender is trusted. One that is
// there and cannot be read is refused: the handler would begin a chain of its
// own, which its repetition might not.
func (o *HTTPOptions) chain(headers http.Header) (string, error) {
	values := headers[ChainHeader]
	if !o.ContinueChains || len(values) == 0 {
		return "", nil
	}
	chain := strings.Trim(values[0], " \t")
	if len(values) > 1 || chain == "" || len(chain) > longestKey || strings.ContainsFunc(chain, notBare) {
		return "", unreadable("the header "+ChainHeader+" is not one chain key", nil)
	}
	return chain, nil
}
