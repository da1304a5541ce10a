package powertools_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/powertools"
	"github.com/lambda-once/once/internal/check"
)

// table is a table in memory.
type table struct {
	*memory.Store
	native *bool // as asked for
	err    error
}

func (t *table) Shared(native bool) (driver.Store, error) {
	t.native = &native
	return t.Store, t.err
}

func newTable() *table { return &table{Store: memory.New(0)} }

// Only Powertools for TypeScript stores native attribute values.
func TestExecutorWritesTheFormOfItsDialect(t *testing.T) {
	for dialect, native := range map[powertools.Dialect]bool{
		powertools.TypeScript: true, powertools.Python: false,
	} {
		shared := newTable()
		if _, err := powertools.NewExecutor("pay", shared, dialect, nil); err != nil || *shared.native != native {
			t.Errorf("%v: native is %v, %v", dialect, *shared.native, err)
		}
	}
}

func TestExecutorRefusesWhatCannotBeShared(t *testing.T) {
	wrong := errors.New("dynamo: Options.Layout is 2")
	for want, c := range map[string]struct {
		operation string
		table     powertools.Table
		dialect   powertools.Dialect
		config    idempotent.Config
	}{
		"the table is nil":   {"pay", nil, powertools.Python, idempotent.Config{}},
		"is no dialect":      {"pay", newTable(), 0, idempotent.Config{}},
		"Options.Layout":     {"pay", &table{err: wrong}, powertools.Python, idempotent.Config{}},
		"operation is empty": {"", newTable(), powertools.Python, idempotent.Config{}},
		"MaxAttempts is 1":   {"pay", newTable(), powertools.Python, idempotent.Config{MaxAttempts: 1}},
		"Lease is":           {"pay", newTable(), powertools.Python, idempotent.Config{Lease: 1}},
	} {
		_, err := powertools.NewExecutor(c.operation, c.table, c.dialect, &c.config)
		var refused *driver.ConfigError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestExecutorLeavesTheConfigOfItsCaller(t *testing.T) {
	config := idempotent.Config{}
	_, err := powertools.NewExecutor("pay", newTable(), powertools.Python, &config)
	check.Must(t, err)
	check.Equal(t, config, idempotent.Config{})
}
