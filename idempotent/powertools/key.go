package powertools

import (
	"crypto/md5"
	"hash"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/canonical"
	"github.com/lambda-once/once/internal/jmespath"
)

// Options are the settings of Powertools that a key depends on, beside the
// prefix and the path. The zero value has the defaults of Powertools, except
// for HashMissing.
type Options struct {
	// Hash returns the hash function, such as sha256.New. Default md5.New.
	Hash func() hash.Hash

	// HashMissing hashes an empty selection such as "", 0 or [null, null], as
	// TypeScript does by default, without throwOnNoIdempotencyKey. All requests
	// without a key then share one record, and replay each other's result. Only for
	// [TypeScript]. Default false: such a request is an [*idempotent.MissingKeyError].
	HashMissing bool

	// Validation is payloadValidationJmesPath, or payload_validation_jmespath:
	// an expression that selects the payload to compare. Its hash becomes
	// Key.Fingerprint. Default "": no comparison.
	Validation string
}

// Key returns a key function that computes Key.Record as Powertools does. It
// sets Key.Fingerprint if Options.Validation is set.
//
// The prefix is the part of the record's id before #. In TypeScript, it is the
// name of the Lambda function, or its keyPrefix; in Python, the function's
// name, a dot, and the module and qualified name of the handler
// (pay.app.lambda_handler), or its key_prefix. An alias or version does not belong to it.
// The path is eventKeyJmesPath, or event_key_jmespath. If it is "", the whole
// event is the key.
//
// The event must be the JSON text that Lambda sent. A decoded event would have
// to be marshalled again, with different tokens and members, so there is no key
// function for it: take a json.RawMessage, and decode it in the handler.
//
// Key panics if a setting is invalid, as regexp.MustCompile does. Use [New] for
// settings that users enter. The key function returns an
// [*idempotent.MissingKeyError] with the Part "id" if Powertools finds no key,
// and an [*idempotent.InvalidPayloadError] for an event that is not JSON, or to
// which a path does not apply.
func Key[Event ~[]byte | ~string](d Dialect, prefix, path string, opts *Options) func(Event) (idempotent.Key, error) {
	k, err := New(d, prefix, path, opts)
	if err != nil {
		panic(err)
	}
	return func(e Event) (idempotent.Key, error) { return k.key(string(e)) }
}

// A Keyer computes keys. It is safe for concurrent use.
type Keyer struct {
	dialect          Dialect
	prefix           string
	path, validation *jmespath.Expression // nil: the whole event; no validation
	reads            *jmespath.Selection  // of both; nil: the whole event
	options          Options
}

// New returns a Keyer with the settings of [Key], or a [*driver.ConfigError].
func New(d Dialect, prefix, path string, opts *Options) (*Keyer, error) {
	k := &Keyer{dialect: d, prefix: prefix}
	if opts != nil {
		k.options = *opts
	}
	if k.options.Hash == nil {
		k.options.Hash = md5.New
	}
	var mistakes driver.Mistakes
	mistakes.If(!d.valid(), "powertools: %v is no dialect", d)
	mistakes.If(k.options.HashMissing && d != TypeScript,
		"powertools: Options.HashMissing is for TypeScript: %v runs the function unprotected, as idempotent.RunMissingKey does", d)
	mistakes.If(prefix == "", "powertools: the prefix is empty: use the part of the other function's ids before #")
	mistakes.If(!utf8.ValidString(prefix), "powertools: the prefix is not UTF-8")
	trimmed := strings.TrimFunc(prefix, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	mistakes.If(d == TypeScript && trimmed != prefix, "powertools: the prefix begins or ends with white space, which TypeScript removes")
	var err error
	if path != "" && d.valid() {
		k.path, err = jmespath.Compile(d.engine(), path, true)
		mistakes.If(err != nil, "powertools: path %q: %w", path, err)
	}
	if v := k.options.Validation; v != "" && d.valid() {
		// Python does not know its own functions here.
		k.validation, err = jmespath.Compile(d.engine(), v, d != Python)
		mistakes.If(err != nil, "powertools: Options.Validation %q: %w", v, err)
	}
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	if k.path != nil {
		k.reads = jmespath.Select(k.path, k.validation)
	}
	return k, nil
}

// Key returns the key of an event, as the functions that [Key] returns.
func (k *Keyer) Key(event []byte) (idempotent.Key, error) { return k.key(string(event)) }

func (k *Keyer) key(event string) (idempotent.Key, error) {
	data, err := decode(k.dialect, event, k.reads)
	if err != nil {
		return idempotent.Key{}, err
	}
	id, err := selected(k.path, data)
	if err == nil && k.missing(id) {
		err = &idempotent.MissingKeyError{Part: "id"}
	}
	if err != nil {
		return idempotent.Key{}, err
	}
	digest, err := k.digest(id)
	if err != nil {
		return idempotent.Key{}, err
	}
	key := idempotent.Key{Record: k.prefix + "#" + digest}
	if k.validation != nil {
		payload, err := selected(k.validation, data)
		if err != nil {
			return idempotent.Key{}, err
		}
		if payload == (jmespath.Undefined{}) {
			return idempotent.Key{}, inapplicable("Options.Validation selects undefined")
		}
		if key.Fingerprint, err = k.digest(payload); err != nil {
			return idempotent.Key{}, err
		}
	}
	return key, nil
}

// digest returns the hash of a selected value, spelled as in the dialect.
func (k *Keyer) digest(v any) (string, error) {
	text, err := canonicalText(k.dialect, v)
	if err != nil {
		return "", err
	}
	h := k.options.Hash()
	h.Write(text) // never returns an error
	return k.dialect.digest(h.Sum(nil)), nil
}

// decode returns the selected part of an event.
func decode(d Dialect, event string, selected *jmespath.Selection) (any, error) {
	if !utf8.ValidString(event) {
		return nil, &idempotent.InvalidPayloadError{Offset: -1, Reason: "not UTF-8"}
	}
	v, err := selected.Decode(d.engine(), event)
	return v, invalidPayload(err)
}

// selected returns the result of an expression, and without one the whole event.
func selected(path *jmespath.Expression, event any) (any, error) {
	if path == nil {
		return event, nil
	}
	v, err := path.Search(event)
	return v, invalidPayload(err)
}

func inapplicable(reason string) error {
	return &idempotent.InvalidPayloadError{Offset: -1, Reason: "the key expression does not apply to it: " + reason}
}

// invalidPayload returns an error of the engine as the type that users know.
func invalidPayload(err error) error {
	if e, ok := err.(*canonical.Error); ok {
		return (*idempotent.InvalidPayloadError)(e)
	}
	return err
}
