package keypath

import (
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/canonical"
)

// invalidPayload returns an error of canonical JSON as the type that users
// know it by.
func invalidPayload(err error) error {
	if e, ok := err.(*canonical.Error); ok {
		return (*idempotent.InvalidPayloadError)(e)
	}
	return err
}
