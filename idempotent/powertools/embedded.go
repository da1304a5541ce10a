package powertools

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/lambda-once/once/idempotent"
)

// maxDecompressed bounds what powertools_base64_gzip inflates, in bytes: a
// request must not choose how much memory it takes.
const maxDecompressed = 10 << 20

// What is refused in every dialect.
var (
	errTooDeep  = errors.New("nested too deeply")
	errTooLarge = errors.New("more than 10 MiB")
	errNotUTF8  = errors.New("not UTF-8") // TypeScript would replace it
)

var errNotBase64 = errors.New("not base64 of the standard alphabet with padding")

func decodeJSON(d Dialect, args []any, _ applied) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, errArguments("powertools_json")
	}
	v, err := decode(d, text)
	return embedded(d, "powertools_json", v, err)
}

func decodeBase64(d Dialect, args []any, _ applied) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, errArguments("powertools_base64")
	}
	b, err := fromBase64(text)
	if d == TypeScript {
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	return embeddedText(d, "powertools_base64", b, err)
}

func decodeBase64Gzip(d Dialect, args []any, _ applied) (any, error) {
	text, ok := args[0].(string)
	if !ok {
		return nil, errArguments("powertools_base64_gzip")
	}
	b, err := fromBase64(text)
	if err == nil {
		b, err = gunzip(d, b)
	}
	return embeddedText(d, "powertools_base64_gzip", b, err)
}

func embeddedText(d Dialect, name string, b []byte, err error) (any, error) {
	if err == nil && !utf8.Valid(b) {
		err = errNotUTF8
	}
	return embedded(d, name, string(b), err)
}

// embedded returns what a function has decoded. In TypeScript, malformed content
// is no error: it is undefined, which is a missing key, and null in a list.
func embedded(d Dialect, name string, v any, err error) (any, error) {
	if err == nil {
		return v, nil
	}
	limit := errors.Is(err, errTooDeep) || errors.Is(err, errTooLarge) || errors.Is(err, errNotUTF8)
	if d == TypeScript && !limit {
		return undefined{}, nil
	}
	reason := err.Error()
	if e, ok := errors.AsType[*idempotent.InvalidPayloadError](err); ok {
		reason = fmt.Sprintf("byte %d: %s", e.Offset, e.Reason)
	}
	return nil, &idempotent.InvalidPayloadError{Offset: -1, Reason: name + ": " + reason, Err: err}
}

// plainBase64 is what all languages decode to the same bytes. Python skips other
// characters, and encoding/base64 line breaks.
var plainBase64 = regexp.MustCompile(`^[A-Za-z0-9+/]*={0,2}$`)

func fromBase64(text string) ([]byte, error) {
	if !plainBase64.MatchString(text) {
		return nil, errNotBase64
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errNotBase64 // err quotes no text, but an offset in it
	}
	return b, nil
}

// gunzip inflates all members of a gzip file. Zeros after a member are padding,
// which compress/gzip would take for another member. Node stops there; Python
// looks for a member behind them.
func gunzip(d Dialect, b []byte) ([]byte, error) {
	file := bytes.NewReader(b)
	r, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	var text []byte
	for {
		r.Multistream(false)
		part, err := io.ReadAll(io.LimitReader(r, int64(maxDecompressed-len(text)+1)))
		if err != nil {
			return nil, err
		}
		if text = append(text, part...); len(text) > maxDecompressed {
			return nil, errTooLarge
		}
		rest := b[len(b)-file.Len():]
		next := bytes.TrimLeft(rest, "\x00")
		if len(next) == 0 || d == TypeScript && len(next) < len(rest) {
			return text, nil
		}
		file.Reset(next)
		b = next
		if err := r.Reset(file); err != nil {
			return nil, err
		}
	}
}
