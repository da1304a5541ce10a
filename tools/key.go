package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/lambda-once/once/idempotent"
)

// longestKey is the length in bytes of the longest key of a client, as in package httpapi.
const longestKey = 255

// call is one call of a tool on its way through the core.
type call[In any] struct {
	request *request
	in      In
	keyed   bool  // by the client
	failed  error // of the last run of the tool
}

// identify reads the arguments and returns the key of the call. Nothing of the protocol
// is in it: ids of requests and of a model's tool use, and times, differ between
// repetitions.
func (c *call[In]) identify(tool string, schema *jsonschema.Resolved, sentKey func(*request) (string, error), key func(In) (idempotent.Key, error)) (idempotent.Key, error) {
	arguments, err := c.read(schema)
	if err != nil {
		return idempotent.Key{}, err
	}
	sent, err := sentKey(c.request)
	if err != nil {
		return idempotent.Key{}, err
	}
	c.keyed = sent != ""
	chosen, err := chosenBy(key, c.in)
	if err != nil && (sent == "" || !errors.Is(err, idempotent.ErrMissingKey)) {
		return idempotent.Key{}, err
	}
	compared, err := comparedWith(chosen, arguments)
	if err != nil {
		return idempotent.Key{}, err
	}
	scope, err := c.request.scope.find(c.request.caller)
	if err != nil {
		return idempotent.Key{}, err
	}
	if sent == "" {
		chosen.Scope, chosen.ID, chosen.Payload, chosen.Fingerprint = scope, tool+"/arguments/"+chosen.ID, nil, compared
		return chosen, nil
	}
	// One key for two orders of the same amount is a mistake too, although the amount
	// alone is compared for an order.
	compared, err = idempotent.Fingerprint([]string{chosen.ID, compared})
	return idempotent.Key{Scope: scope, ID: tool + "/key/" + sent, Fingerprint: compared, Issued: chosen.Issued}, err
}

// read decodes the arguments into c.in, and returns their text. Validation decodes them
// a second time, with numbers that may lose digits.
func (c *call[In]) read(schema *jsonschema.Resolved) (json.RawMessage, error) {
	arguments := c.request.arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	var value any
	err := json.Unmarshal(arguments, &value)
	if err == nil {
		err = schema.Validate(value)
	}
	if err == nil {
		err = json.Unmarshal(arguments, &c.in)
	}
	if err != nil {
		return nil, &idempotent.InvalidPayloadError{Offset: -1, Reason: "the arguments do not fit the tool's schema", Err: err}
	}
	return arguments, nil
}

// chosenBy returns the key that the author's function makes of the arguments.
func chosenBy[In any](key func(In) (idempotent.Key, error), in In) (chosen idempotent.Key, err error) {
	if key != nil {
		chosen, err = key(in)
	}
	switch {
	case errors.Is(err, idempotent.ErrMissingKey), err == nil && chosen.ID == "" && chosen.Scope == "" && chosen.Record == "":
		return chosen, &idempotent.MissingKeyError{Part: "id"}
	case err == nil && (chosen.Scope != "" || chosen.Record != ""):
		return chosen, &idempotent.InvalidKeyError{Part: "Scope", Reason: "or Record is set by the tool's key function; the Scope of the door names the owner"}
	}
	return chosen, err
}

// comparedWith returns the fingerprint of what is compared: what the author chose, or
// all arguments. Arguments without a fingerprint are refused all the same: of a member
// that they have twice, a gateway may have judged the other value.
func comparedWith(chosen idempotent.Key, arguments json.RawMessage) (string, error) {
	all, err := idempotent.Fingerprint(arguments)
	switch {
	case err != nil:
		return "", err
	case chosen.Fingerprint != "":
		return chosen.Fingerprint, nil
	case chosen.Payload != nil:
		return idempotent.Fingerprint(chosen.Payload)
	}
	return all, nil
}

// headerKey is a string of RFC 8941, or the same text without quotes, as most clients
// send it. Gateways join repeated headers with commas.
var headerKey = regexp.MustCompile(`^[ \t]*(?:"([^"\\]*)"|([^,;"\\ \t]*))[ \t]*$`)

// sentKey returns the client's key in _meta, or in the header of the request, or "". They
// must be equal if there are both.
func (r *request) sentKey() (string, error) {
	key, isText := r.meta.(string)
	reason := ""
	if r.meta != nil && (!isText || key == "") {
		reason = "is not a text in _meta"
	} else if values := r.caller.Header.Values("Idempotency-Key"); len(values) > 0 {
		found := headerKey.FindStringSubmatch(strings.Join(values, ","))
		switch {
		case found == nil:
			reason = "is given more than once, or is not one string in quotes or without quotes, commas and spaces"
		case found[1]+found[2] == "":
			reason = "is empty"
		case isText && key != found[1]+found[2]:
			reason = "in the header is not the one in _meta"
		default:
			key = found[1] + found[2]
		}
	}
	if len(key) > longestKey {
		reason = fmt.Sprintf("has %d bytes, more than %d", len(key), longestKey)
	}
	if reason != "" {
		return "", &idempotent.InvalidKeyError{Part: "ID", Reason: reason}
	}
	return key, nil
}

// noSentKey ignores the client's key.
func (r *request) noSentKey() (string, error) { return "", nil }
