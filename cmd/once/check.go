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
Says whether a table is right for the functions that use it, before the first
request does: its keys, time to live, point-in-time recovery, deletion
protection and replicas, and whether the caller may do what a function does.
What to do about a mistake stands below it.

Of PostgreSQL it checks the server, the table, the rights of the role, the
isolation level, durability, and the limits of connections whose client has
vanished. Of Redis it checks the server, its eviction policy, its memory, its
persistence and its replicas.

Then it makes a first call: the reads and writes of a function, on a record of its
own, which it deletes. That finds what suppresses or refuses a write: a trigger, a
policy of rows, a deferrable key, a command that is not allowed, a key of KMS. list,
stats and handlers.Resume pass the record over, and after a kill it expires in half
an hour. --read-only writes nothing. With --resume, it checks the index, too, that
handlers.Resume searches.

With --function, it asks the deployed function what package infra asks of an
app: its variables, its sources, their queues and dead-letter queues, and what
becomes of events that fail. Sources are those of the NAME, or of NAME:ALIAS.
Without --table, the table is that of the function's IDEMPOTENCY_TABLE. IAM says
what the role of the function may do; the first call is that of the credentials that
this command runs with. It does not know Config.Retention.

In DynamoDB, without --function, the permissions are those of the credentials
that this command runs with. Each action is tried first on a key that no record
has, under a condition that never holds, so that nothing is written. Where a policy
confines the function to its operations, give --operation. Where the function
turns on group commit (dynamo.Options.Group), give --group, which checks what
that calls as well.

Findings are printed as they come. A server that does not answer ends the check.

"once policy --for check" prints the permissions for it. What is not known is a
warning. With --strict, warnings end with code 8, too.
`

func checkStore(ctx context.Context, c *cli.Call) error {
	var o store.Flags
	o.Add(c.FlagSet)
	operation := c.String("operation", "check", "call with a key of this `operation`")
	group := c.Bool("group", false, "try what group commit calls, too")
	resume := c.Bool("resume", false, "check the index of handlers.Resume, too")
	readOnly := c.Bool("read-only", false, "make no first call: write nothing")
	function := c.String("function", "", "check the deployed function with this `name` or ARN, too")
	asJSON := c.Bool("json", false, "write JSON")
	strict := c.Bool("strict", false, "end with code 8 for warnings, too")
	if _, err := c.Arguments(0); err != nil {
		return err
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
