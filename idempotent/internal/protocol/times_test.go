package protocol

import (
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

// A handler ends before its lease, before its invocation, and before a provider may
// forget what the first attempt sent.
func TestHandlerEnd(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	const reserve, memory = 500 * time.Millisecond, time.Hour
	in := func(d time.Duration) time.Time { return now.Add(d) }
	var none time.Time
	for _, test := range []struct {
		name                     string
		memory                   time.Duration
		lease, invocation, began time.Time
		want                     time.Time
	}{
		{"the lease", 0, in(time.Minute), none, now, in(time.Minute - reserve)},
		{"the invocation", 0, in(time.Minute), in(time.Second), now, in(time.Second - reserve)},
		{"what it remembers is longer", memory, in(time.Minute), none, now, in(time.Minute - reserve)},
		{"what it remembers is as long", memory, in(time.Minute + reserve), none, in(time.Minute - memory), in(time.Minute)},
		{"what it remembers is shorter", memory, in(time.Minute), none, in(time.Second - memory), in(time.Second)},
		{"shorter than the invocation", memory, in(time.Minute), in(time.Minute), in(time.Second - memory), in(time.Second)},
		{"it has forgotten", memory, in(time.Minute), none, in(-2 * memory), in(-memory)},
		{"nobody knows when it began", memory, in(time.Minute), none, none, in(time.Minute - reserve)},
	} {
		times := Times{Reserve: reserve, ProviderMemory: test.memory}
		check.Time(t, times.HandlerEnd(test.lease, test.invocation, test.began), test.want, test.name)
	}
}
