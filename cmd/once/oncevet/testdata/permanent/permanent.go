// Package permanent has errors that lose their class, and some that keep it.
package permanent

import (
	"errors"
	"fmt"

	"github.com/lambda-once/once/idempotent"
)

var errDeclined = errors.New("declined")

func decline() error { return idempotent.Permanent(errDeclined) }

func Lost(id string) []error {
	err := idempotent.Permanent(errDeclined)
	idempotent.Permanent(errDeclined) // want
	return []error{
		fmt.Errorf("order %s: %v", id, err),                               // want
		fmt.Errorf("order %s: %w", id, err),                               // near
		fmt.Errorf("order: %s", decline()),                                // want
		errors.New(err.Error()),                                           // want
		errors.New(errDeclined.Error()),                                   // near
		idempotent.Permanent(fmt.Errorf("%v", id)),                        // near
		idempotent.Permanent(fmt.Errorf("order %s: %v", id, errDeclined)), // near
		fmt.Errorf("order %v: %w", id, decline()),                         // near
	}
}
