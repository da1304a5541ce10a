package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/lambda-once/once/cmd/once/internal/checks"
	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/checked"
)

const aboutCheck = `
Says whether a store is right for the functions that use it, before the first request
does, and below a mistake what to do. Findings are printed as they come.

Of DynamoDB it checks keys, time to live, point-in-time recovery, deletion protection,
replicas, and whether the caller may do what a function does: on a key without a
record, under a condition that never holds. Where a policy confines the function to its
operations, give --operation. Of PostgreSQL it
checks the server, the table, the rights of the role, isolation, durability, and how
vanished clients are noticed. Of Redis: eviction, memory, persistence and replicas.

Then it makes a first call: the reads and writes of a function, on a record of its own,
which it deletes. That finds what suppresses or refuses a write, such as a trigger, a
policy of rows, a deferrable key, a denied command or a key of KMS. No other command
and no function sees the record, and after a kill it expires in half an hour.
--read-only writes nothing. --resume adds the index that handlers.Resume searches.

--function asks the deployed function what package infra asks of an app: its variables,
its sources (those of NAME, or of NAME:ALIAS), their queues and dead-letter queues, and
what becomes of events that fail. The table is then that of its IDEMPOTENCY_TABLE, and
IAM says what its role may do, with --group also for group commit; the first call is
still that of the caller. It does not know Config.Retention.

"once policy --for check" prints the permissions for it. What is not known is a
warning. With --strict, warnings end with code 8, too.
`

func checkStore(ctx context.Context, c *cli.Call) error {
	var o store.Flags
	o.Add(c.FlagSet)
	operation := c.String("operation", "check", "call with a key of this `operation`")
	group := c.Bool("group", false, "with --function, check the permissions of group commit, too")
	resume := c.Bool("resume", false, "check the index of handlers.Resume, too")
	readOnly := c.Bool("read-only", false, "make no first call: write nothing")
	function := c.String("function", "", "check the deployed function with this `name` or ARN, too")
	asJSON := c.Bool("json", false, "write JSON")
	strict := c.Bool("strict", false, "end with code 8 for warnings, too")
	if _, err := c.Arguments(0); err != nil {
		return err
	}
	if *group && !c.Given("function") {
		return cli.Endf(cli.CodeUsage, "--group needs --function: IAM says what its role may do")
	}
	*operation = cmp.Or(*operation, "check")
	_, err := idempotent.Key{ID: "any"}.RecordID(*operation)
	if err != nil {
		return cli.Misuse(err)
	}
	id := checked.ID(*operation, rand.Text())
	o.DynamoDB.Options.Resume, o.Postgres.Options.Resume = *resume, *resume
	if err := o.Check(c); err != nil {
		return err
	}
	found := &checks.Findings{All: []checks.Finding{}, Waits: &o.Waits}
	if !*asJSON {
		found.To = c.Out
	}
	var asked *checks.Deployed
	if c.Given("function") {
		if asked, err = checks.Function(ctx, c, &o, *function, found); err != nil {
			return err
		}
	}
	lingering, cancel := driver.Linger(ctx)
	defer cancel()
	t, err := o.Open(lingering, c)
	if err != nil {
		return err
	}
	found.Store(ctx, lingering, t, checks.Options{
		ID: id, Group: *group, Resume: *resume, ReadOnly: *readOnly, Function: asked,
		Interrupted: func() { fmt.Fprintln(c.Err, "once: interrupted; deleting the record of the check") },
	})
	if *asJSON {
		if err := cli.WriteJSON(c.Out, found.All); err != nil {
			return err
		}
	}
	switch end := o.Waits.Ended(); {
	case end == store.ErrInterrupted, ctx.Err() != nil:
		return store.ErrInterrupted
	case end != nil: // which is a finding
		return cli.Endf(cli.CodeFailed, "the check is not complete")
	case found.Has(checks.Wrong):
		return cli.Endf(cli.CodeNotRight, "functions cannot use %s as it is", t.Place)
	case found.Has(checks.Warning) && *strict:
		return cli.Endf(cli.CodeNotRight, "%s has warnings", t.Place)
	}
	return nil
}
