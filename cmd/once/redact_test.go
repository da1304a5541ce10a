package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// A person's data is gone, and the guarantee stays.
func TestRedactRemovesTheResultAndNothingRunsAgain(t *testing.T) {
	onStores(t, func(s *storeScene) {
		x, err := idempotent.New("pay", s.records, nil)
		check.Must(s, err)
		runs := 0
		pay := idempotent.Wrap(x, func(key string) (idempotent.Key, error) { return idempotent.Key{ID: key}, nil }, func(_ context.Context, key string) (string, error) {
			if runs++; key == "failed" {
				return "", idempotent.Permanent(errors.New("Ada is unknown"))
			}
			return "Ada Lovelace", nil
		})
		for key, fails := range map[string]bool{"done": false, "failed": true} {
			_, err := pay(s.Context(), key)
			check.Equal(s, err != nil, fails, err)
			id, err := idempotent.Key{ID: key}.RecordID("pay")
			check.Must(s, err)
			s.prints("redacted: "+id, "redact", "--yes", id, "--by", "ann", "--reason", "request 7")
			check.Lacks(s, s.ok(s.with("inspect", "--data", id)...), "Ada")
			s.prints("by ann: request 7", "inspect", id)
			_, err = pay(s.Context(), key)
			check.Equal(s, check.As[*idempotent.ResultUnavailableError](s, err).Failed, fails)
		}
		check.Equal(s, runs, 2)
	})
}

func TestRedactRefusesARecordInProgress(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("pay#running", time.Hour)
		s.claim("pay#lapsed", -time.Hour)
		for _, id := range []string{"pay#running", "pay#lapsed"} {
			s.ends(cli.CodeRefused, "the record is in progress", "redact", "--yes", "--force", id)
		}
		s.finish("pay#done", `"Ada"`)
		s.ends(cli.CodeDeclined, "nothing was written", "redact", "pay#done")
		s.ends(cli.CodeUsage, "is a variable unset?", "redact", "--yes", "pay#done", "--by", "")
		s.prints(`"done":"redacted"`, "redact", "--yes", "--json", "pay#done")
		check.Equal(s, s.get("pay#done").Unavailable, driver.Redacted)
	})
}
