package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/form"
)

// outside says where else a result or request is, or its key, or returns "" if it is here.
func outside(payload string, data []byte) string {
	if payload != "" {
		return "kept elsewhere: " + cli.Printable(payload)
	}
	if key, sealed := seal.KeyID(data); sealed {
		return fmt.Sprintf("sealed with key %q, %d bytes", key, len(data))
	}
	return ""
}

// request returns "" if no request is stored.
func (r *Record) request() string {
	if r.Request == nil {
		return ""
	}
	content := form.DecodeStep(r.Request)
	if content.Payload == "" && content.Unavailable != "" {
		return "cannot be read"
	}
	return cmp.Or(outside(content.Payload, content.Data), fmt.Sprintf("%d bytes", len(content.Data)))
}

func (r *Record) shape() string {
	elsewhere := outside(r.Payload, r.Data)
	switch {
	case r.Payload == "" && r.Unavailable != "":
		return "unavailable, the reason of " + Digest([]byte(r.Unavailable))
	case elsewhere != "":
		return elsewhere
	case r.Data == nil:
		return "none"
	case utf8.Valid(r.Data):
		return "text of " + Digest(r.Data)
	}
	return "binary of " + Digest(r.Data)
}

// Result returns the stored result, which may be personal data, or why there is none.
func (r *Record) Result() string {
	_, sealed := seal.KeyID(r.Data)
	switch {
	case r.Payload != "":
		return "no result here: it is kept elsewhere, and once fetches nothing"
	case sealed:
		return "no result: it is sealed, and once has no keys"
	case json.Valid(r.Data):
		return string(r.Data)
	case r.Data != nil:
		return strconv.Quote(string(r.Data))
	case r.Unavailable != "":
		return "no result: " + r.Unavailable
	}
	return ""
}

func Digest(data []byte) string {
	return fmt.Sprintf("%d bytes, SHA-256 %.12x", len(data), sha256.Sum256(data))
}
