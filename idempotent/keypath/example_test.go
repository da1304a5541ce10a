package keypath_test

import (
	"fmt"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
)

// The ID comes from JSON that is embedded in the request, and the scope from
// the identity of the caller.
func ExamplePath() {
	key := idempotent.WithScope(
		keypath.Path[map[string]any]("powertools_json(body).order.id"),
		keypath.Path[map[string]any]("user.sub"),
	)
	k, err := key(map[string]any{"body": `{"order":{"id":"o-1"}}`, "user": map[string]any{"sub": "ada"}})
	fmt.Println(k.Scope, k.ID, err)
	_, err = key(map[string]any{"body": `{"order":{"id":"o-1"}}`})
	fmt.Println(err)
	// Output:
	// ada o-1 <nil>
	// idempotent: the request has no idempotency key: its scope, user.sub, is missing, null or empty
}
