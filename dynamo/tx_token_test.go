package dynamo

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
)

// DynamoDB forgets a token after 10 minutes, and would then commit a
// transaction twice that no record fences.
func TestTransactionWithoutRecordIsNotSentAgainLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		oops := refusing(500, "InternalServerError", "oops")
		client := wireClient(func(r *http.Request) (*http.Response, error) { sent++; return oops(r) })
		s := newStore(t, client, "records", nil)
		alone, fenced := twoAccounts(t), twoAccounts(t)
		send := func() {
			if err := s.Commit(t.Context(), "op#1", alone); err == nil {
				t.Error("no error")
			}
			if _, _, err := s.Change(t.Context(), fence("op#1"), completion(fenced)); err == nil {
				t.Error("no error")
			}
		}
		send()
		time.Sleep(8 * time.Minute)
		send()
		if sent != 4 {
			t.Errorf("%d requests within the token's time", sent)
		}
		time.Sleep(2 * time.Minute)
		send()
		if sent != 5 {
			t.Errorf("%d requests, not that of the record alone", sent)
		}
		err := s.Commit(t.Context(), "op#1", alone)
		var rejected *driver.Rejected
		if errors.As(err, &rejected) || errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrNotWritten) {
			t.Errorf("it is known, or worth another try: %v", err)
		}
	})
}
