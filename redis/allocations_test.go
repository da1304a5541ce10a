package redis

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/check"
)

// applied answers each script with the same command, and allocates nothing.
type applied struct {
	Client
	answer *redis.Cmd
}

func (a applied) EvalSha(context.Context, string, []string, ...any) *redis.Cmd { return a.answer }

func TestAllocationsOfAFirstCall(t *testing.T) {
	answer := redis.NewCmd(t.Context())
	answer.SetVal(int64(codeApplied))
	s := storeOn(t, applied{answer: answer}, nil)
	r, now := claim("a"), time.Now()
	finish := completed("1")
	finish.Ended.At = now
	got := testing.AllocsPerRun(100, func() {
		_, claimed, err := s.Create(context.Background(), r, now, nil)
		check.Must(t, err)
		_, finished, err := s.Change(context.Background(), fenceOf(r), finish)
		check.Must(t, err)
		if !claimed || !finished {
			t.Fatal("not applied")
		}
	})
	// Of each script the key, the list of it and that of arguments, and the values that are
	// no constants.
	if got > 20 {
		t.Errorf("%v allocations", got)
	}
}
