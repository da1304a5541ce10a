package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"

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

type verdict string

const (
	fine    verdict = "ok"
	warning verdict = "warning" // functions run, at a risk, or it is not known
	wrong   verdict = "wrong"   // functions fail
)

type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	ToDo    string  `json:"to_do,omitempty"`
}

// findings are printed as they are found, unless to is nil.
type findings struct {
	all   []finding
	to    io.Writer
	waits *waits
	over  bool // as the command sends nothing more
}

// say adds a finding. One is about a server that does not answer, and those after it, or
// after an interrupt, are of requests that were not sent.
func (f *findings) say(check string, v verdict, found, toDo string) {
	if f.over {
		return
	}
	if err := f.waits.ended(); err != nil {
		f.over = true
		silent, ok := err.(*silentError)
		if !ok {
			return
		}
		v, found, toDo = wrong, silent.found(), silent.cause
	}
	f.add(check, v, found, toDo)
}

// add adds a finding of the command itself, also when it sends nothing more.
func (f *findings) add(check string, v verdict, found, toDo string) {
	f.all = append(f.all, finding{check, v, found, toDo})
	if f.to == nil {
		return
	}
	const line = "%-7s  %-22s  %s\n"
	fmt.Fprintf(f.to, line, v, check, found)
	if toDo != "" {
		fmt.Fprintf(f.to, line, "", "", "-> "+toDo)
	}
}

// An outcome is a possible finding of a check.
type outcome struct {
	holds       bool
	verdict     verdict
	found, toDo string
}

// first adds the first outcome that holds. If none does, it adds that the check is fine, or
// nothing if the text of that is empty.
func (f *findings) first(check, isFine string, outcomes ...outcome) {
	outcomes = append(outcomes, outcome{isFine != "", fine, isFine, ""})
	if i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.holds }); i >= 0 {
		f.say(check, outcomes[i].verdict, outcomes[i].found, outcomes[i].toDo)
	}
}

func (f *findings) has(v verdict) bool {
	return slices.ContainsFunc(f.all, func(found finding) bool { return found.Verdict == v })
}

func checkStore(ctx context.Context, c *call) error {
	var o storeFlags
	o.add(c.FlagSet)
	operation := c.String("operation", "check", "call with a key of this `operation`")
	group := c.Bool("group", false, "try what group commit calls, too")
	resume := c.Bool("resume", false, "check the index of handlers.Resume, too")
	readOnly := c.Bool("read-only", false, "make no first call: write nothing")
	function := c.String("function", "", "check the deployed function with this `name` or ARN, too")
	asJSON := c.Bool("json", false, "write JSON")
	strict := c.Bool("strict", false, "end with code 8 for warnings, too")
	if _, err := c.parse(0); err != nil {
		return err
	}
	*operation = cmp.Or(*operation, "check")
	if _, err := (idempotent.Key{ID: "any"}).RecordID(*operation); err != nil {
		return &ending{codeUsage, err}
	}
	id := checked.ID(*operation, rand.Text())
	o.dynamodb.options.Resume, o.postgres.options.Resume = *resume, *resume
	if err := o.check(c); err != nil {
		return err
	}
	found := &findings{all: []finding{}, waits: &o.waits}
	if !*asJSON {
		found.to = c.out
	}
	if c.given("function") {
		if err := checkFunction(ctx, c, &o, *function, found); err != nil {
			return err
		}
	}
	lingering, cancel := driver.Linger(ctx)
	defer cancel()
	t, err := o.open(lingering, c)
	if err != nil {
		return err
	}
	if t.check(ctx, id, *group, found) && !*readOnly && ctx.Err() == nil {
		stop := context.AfterFunc(ctx, func() { fmt.Fprintln(c.err, "once: interrupted; deleting the record of the check") })
		(&firstCall{store: t, id: id, found: found}).run(lingering, ctx.Done())
		stop()
	}
	if *asJSON {
		if err := writeJSON(c.out, found.all); err != nil {
			return err
		}
	}
	switch end := o.waits.ended(); {
	case end == errInterrupted, ctx.Err() != nil:
		return errInterrupted
	case end != nil: // which is a finding
		return endf(codeFailed, "the check is not complete")
	case found.has(wrong):
		return endf(codeNotRight, "functions cannot use %s as it is", t.place)
	case found.has(warning) && *strict:
		return endf(codeNotRight, "%s has warnings", t.place)
	}
	return nil
}
