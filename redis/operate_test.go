package redis

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// moved fails the commands on one key of each pipeline, as a cluster does whose slot has
// just moved.
type moved struct {
	redis.Hook
	key string
}

var errMoved = errors.New("MOVED 1 127.0.0.1:1")

func (m moved) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (m moved) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (m moved) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if len(cmd.Args()) > 1 && cmd.Args()[1] == m.key {
				cmd.SetErr(errMoved)
			}
		}
		return err
	}
}

// A page with a record that was not read is an error, also beside a foreign key.
func TestScanLosesNoRecord(t *testing.T) {
	s, client := newStore(t)
	check.Must(t, client.Set(t.Context(), s.options.Prefix+"text", "of another program", 0).Err())
	check.Must(t, client.HSet(t.Context(), s.options.Prefix+"pay#1", "status", "COMPLETED").Err())
	if found, err := scanned(t, s); err != nil || found != 1 {
		t.Fatalf("%d records, %v", found, err)
	}
	client.AddHook(moved{key: s.options.Prefix + "pay#1"})
	if _, err := scanned(t, s); !errors.Is(err, errMoved) {
		t.Errorf("a record that was not read: %v", err)
	}
}

// scanned counts the records of all pages: the server is shared with other tests, so a
// page may hold only keys of theirs.
func scanned(t *testing.T, s *Store) (records int, err error) {
	t.Helper()
	for next := ""; ; {
		page, err := s.Scan(t.Context(), driver.Filter{}, next)
		if records += len(page.Entries); err != nil || page.Next == "" {
			return records, err
		}
		next = page.Next
	}
}

func TestScanRefusesAForeignPosition(t *testing.T) {
	s, _ := newStore(t)
	for _, position := range []string{"-1.0", "1.0", "x", "0"} {
		var mistake *driver.ConfigError
		if _, err := s.Scan(t.Context(), driver.Filter{}, position); !errors.As(err, &mistake) {
			t.Errorf("%q: %v", position, err)
		}
	}
}
