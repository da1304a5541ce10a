package main

import (
	"context"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/record"
)

const aboutRelease = `
Has the next call with the key run again.

The record stays: its lease ends, its owner is removed, and one attempt is
refunded, so that a key whose MaxAttempts were just used up runs once more.
Attempts still count, and the results of finished steps and the payload's
fingerprint stay. A process that still runs can record its result if no other
call has taken over by then. A delayed copy of its claim writes nothing.

The record forgets when its work began: under ProviderMemory, the next call runs
as a first attempt. A provider that has forgotten the key of an effect repeats it,
so find out first whether the effect happened.

--delete removes the item instead. Use it for a finished record, or for a key
that is to be used with another payload. A delayed copy of a claim can then
write the record again. Processes with a cache (CacheEntries) replay a finished
result until its retention ends.

release refuses a record whose lease is live, unless --force is set: its owner
runs, and both its effect and that of the next call will happen. So it does for
a durable execution, which may be paused. Stop the execution first, and wait:
its last invocation may still run.
`

func release(ctx context.Context, c *cli.Call) error {
	var o record.Release
	c.BoolVar((*bool)(&o), "delete", false, "delete the item, with its attempts, steps and result")
	return act(ctx, c, &o, nil, nil)
}
