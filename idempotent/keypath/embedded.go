package keypath

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/canonical"
)

// maxDecompressed bounds what powertools_base64_gzip inflates, in bytes: gzip
// makes 10 MiB of 10 KiB, and a request must not choose how much memory it
// takes.
const maxDecompressed = 10 << 20

func decodeJSON(args []any) (any, error) {
	s, err := embedded("powertools_json", args[0])
	if err != nil {
		return nil, err
	}
	text, err := canonical.Append(nil, []byte(s))
	if err != nil {
		return nil, embeddedError("powertools_json", err)
	}
	v, err := canonical.Decode(text)
	return v, invalidPayload(err)
}

func decodeBase64(args []any) (any, error) {
	b, err := fromBase64("powertools_base64", args[0])
	if err != nil {
		return nil, err
	}
	return toText("powertools_base64", b)
}

func decodeBase64Gzip(args []any) (any, error) {
	const name = "powertools_base64_gzip"
	b, err := fromBase64(name, args[0])
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, embeddedError(name, err)
	}
	b, err = io.ReadAll(io.LimitReader(r, maxDecompressed+1))
	if err != nil {
		return nil, embeddedError(name, err)
	}
	if len(b) > maxDecompressed {
		return nil, embeddedError(name, errors.New("more than 10 MiB"))
	}
	return toText(name, b)
}

// embedded returns the argument of a decoding function. If it is null, the
// embedding field is absent: a null result could be one part of an ID, which
// many requests would then share.
func embedded(name string, arg any) (string, error) {
	switch s := arg.(type) {
	case nil:
		return "", &idempotent.MissingKeyError{Part: "id"}
	case string:
		return s, nil
	default:
		return "", embeddedError(name, errors.New("not a string"))
	}
}

func fromBase64(name string, arg any) ([]byte, error) {
	s, err := embedded(name, arg)
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, embeddedError(name, err)
	}
	return b, nil
}

func toText(name string, b []byte) (any, error) {
	if !utf8.Valid(b) {
		return nil, embeddedError(name, errors.New("not UTF-8"))
	}
	return string(b), nil
}

// embeddedError has a text of its own: the offsets of err are not those of the
// request. No error passed here quotes what it could not decode.
func embeddedError(name string, err error) error {
	reason := err.Error()
	if e, ok := errors.AsType[*canonical.Error](err); ok {
		reason = fmt.Sprintf("byte %d: %s", e.Offset, e.Reason)
	}
	return &idempotent.InvalidPayloadError{Offset: -1, Reason: name + ": " + reason, Err: invalidPayload(err)}
}
