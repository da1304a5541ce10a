package jmespath

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/lambda-once/once/internal/canonical"
)

// maxDecompressed bounds what powertools_base64_gzip inflates, in bytes: gzip
// makes 10 MiB of 10 KiB, and a request must not choose how much memory it takes.
const maxDecompressed = 10 << 20

// ErrNoContent reports that a decoding function was called with null in Exact: the
// embedding member is absent. A null result could be one part of a key, which many
// requests would then share.
var ErrNoContent = errors.New("a decoding function was called with null")

// Errors of every dialect.
var (
	errTooDeep   = errors.New("nested too deeply")
	errTooLarge  = errors.New("more than 10 MiB")
	errNotUTF8   = errors.New("not UTF-8") // TypeScript would replace it
	errNotBase64 = errors.New("not base64 of the standard alphabet with padding")
)

// decoding returns the function that decodes a text with decode. In TypeScript, malformed
// content is no error: it is undefined, which is a missing key, and null in a list.
func decoding(decode func(d Dialect, text string) (any, error)) func(call) any {
	return func(c call) any {
		v, err := decode(c.dialect, must(c.content()))
		if err == nil {
			return v
		}
		limit := errors.Is(err, errTooDeep) || errors.Is(err, errTooLarge) || errors.Is(err, errNotUTF8)
		if c.dialect == TypeScript && !limit {
			return Undefined{}
		}
		reason := err.Error()
		if e, ok := errors.AsType[*canonical.Error](err); ok { // its offset is not one of the event
			reason = fmt.Sprintf("byte %d: %s", e.Offset, e.Reason)
		}
		panic(failure{&canonical.Error{Offset: -1, Reason: c.name + ": " + reason, Err: err}})
	}
}

// content returns the text that a function decodes.
func (c call) content() (string, error) {
	if c.args[0] == nil && c.dialect == Exact {
		return "", ErrNoContent
	}
	text, ok := c.args[0].(string)
	if !ok {
		return "", c.failure().error
	}
	return text, nil
}

func decodeBase64(d Dialect, text string) (any, error) {
	b, err := fromBase64(d, text)
	if d == TypeScript {
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	return utf8Text(b, err)
}

func decodeGzip(d Dialect, text string) (any, error) {
	b, err := fromBase64(d, text)
	if err == nil {
		b, err = gunzip(d, b)
	}
	return utf8Text(b, err)
}

func utf8Text(b []byte, err error) (any, error) {
	if err == nil && !utf8.Valid(b) {
		err = errNotUTF8
	}
	return string(b), err
}

// plainBase64 matches texts that all languages decode to the same bytes. Python skips
// any other character. Exact skips line breaks, as encoding/base64 does.
var plainBase64 = regexp.MustCompile(`^[A-Za-z0-9+/]*={0,2}$`)

func fromBase64(d Dialect, text string) ([]byte, error) {
	if d != Exact && !plainBase64.MatchString(text) {
		return nil, errNotBase64
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errNotBase64 // err quotes no text, but an offset in it
	}
	return b, nil
}

// gunzip inflates all members of a gzip file. Zeros after a member are padding,
// which compress/gzip would take for a member. Node stops there; Python looks for a
// member behind them, as Exact does.
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
