package record

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/form"
)

func (r *Record) request() string {
	if r.Request == nil {
		return ""
	}
	content := form.DecodeStep(r.Request)
	key, sealed := seal.KeyID(content.Data)
	switch {
	case content.Payload != "":
		return "kept elsewhere: " + cli.Printable(content.Payload)
	case content.Unavailable != "":
		return "cannot be read"
	case sealed:
		return fmt.Sprintf("sealed with key %q, %d bytes", key, len(content.Data))
	}
	return fmt.Sprintf("%d bytes", len(content.Data))
}

func (r *Record) shape() string {
	key, sealed := seal.KeyID(r.Data)
	switch {
	case r.Payload != "":
		return "kept elsewhere: " + cli.Printable(r.Payload)
	case r.Unavailable != "":
		return "unavailable, the reason of " + Digest([]byte(r.Unavailable))
	case sealed:
		return fmt.Sprintf("sealed with key %q, %d bytes", key, len(r.Data))
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
