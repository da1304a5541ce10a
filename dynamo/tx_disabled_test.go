package dynamo

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// ONCE_DISABLED takes the records away, and none of the handler's effects: its
// transaction is committed at every call.
func TestDisabledCommitsTransactionsWithoutARecord(t *testing.T) {
	t.Setenv("ONCE_DISABLED", "1")
	for name, config := range map[string]*idempotent.Config{"claimed": nil, "optimistic": {Optimistic: true}} {
		t.Run(name, func(t *testing.T) {
			s := localStore(t)
			c := s.counter(t)
			x, err := idempotent.New("op", s, config)
			check.Must(t, err)
			for want := 1; want <= 2; want++ {
				_, err := idempotent.Do(t.Context(), x, idempotent.Key{Record: "op#1"}, func(ctx context.Context) (string, error) {
					Collect(ctx).Update(s.table, c.key, expression.Add(expression.Name("n"), expression.Value(1)))
					return "done", nil
				})
				check.Nil(t, err)
				check.Equal(t, c.value(), want)
			}
			check.Equal(t, get(t, s, "op#1").Status, driver.Absent, "a record was written")
		})
	}
}
