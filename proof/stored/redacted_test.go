package stored

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// redact has an operator redact a finished record, and makes its call again.
func redact(t *testing.T, name string, c call, text json.RawMessage, db database) {
	t.Helper()
	must(t, db.plant(t.Context(), text))
	store := db.store.(driver.Operable)
	page, err := store.Scan(t.Context(), driver.Filter{}, "")
	must(t, err)
	e, err := store.Inspect(t.Context(), page.Entries[0].ID)
	must(t, err)
	_, ok, err := store.Apply(t.Context(), e, e.Redaction("ann", "request 7"))
	must(t, err)
	check.True(t, ok)
	left, err := db.read(t.Context())
	must(t, err)
	for _, form := range []string{strings.Trim(string(e.Data), `"`), errRefused.Error(), hex.EncodeToString(e.Data), base64.StdEncoding.EncodeToString(e.Data)} {
		check.False(t, name != "empty" && form != "" && strings.Contains(string(left), form), "the record still has", form)
	}
	if c.outcome == idempotent.OutcomeReplayed {
		c.result, c.err = "", idempotent.ErrResultUnavailable
	}
	c.check(t.Context(), t, name, db.store)
}
