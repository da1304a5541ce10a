package dynamo

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

// DynamoDB forgets a token after 10 minutes, and would then commit a
// transaction twice that no record fences.
func TestTransactionWithoutRecordIsNotSentAgainLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		oops := refusing(500, "InternalServerError", "oops")
		client := wireClient(func(r *wire.Request) (*wire.Response, error) { sent++; return oops(r) })
		s := newStore(t, client, "records", nil)
		alone, fenced := twoAccounts(t), twoAccounts(t)
		send := func() {
			check.Failed(t, s.Commit(t.Context(), "op#1", alone), "no error")
			_, _, err := s.Change(t.Context(), fence("op#1"), completion(fenced))
			check.Failed(t, err, "no error")
		}
		send()
		time.Sleep(8 * time.Minute)
		send()
		check.Equal(t, sent, 4, "requests within the token's time")
		time.Sleep(2 * time.Minute)
		send()
		check.Equal(t, sent, 5, "requests, not that of the record alone")
		err := s.Commit(t.Context(), "op#1", alone)
		var rejected *driver.Rejected
		check.False(t, errors.As(err, &rejected), "it is known, or worth another try")
		check.False(t, errors.Is(err, driver.ErrUnavailable))
		check.False(t, errors.Is(err, driver.ErrNotWritten))
	})
}
