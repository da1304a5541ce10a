package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/lambda-once/once/cmd/once/internal/cli"
)

const aboutAlarms = `
Prints the alarms of a function, of its operations and of its sources, for the
Resources of a SAM template. Paste them there; docs/operate.md explains each by the
end of its name. They are those of the CDK constructs and of the Terraform module.

	once alarms --function OrdersFunction --operation place-order --queue OrdersQueue --dead-letters OrdersQueueDeadLetters --notify OnCall

The operations of a function of handlers.Resume are those of --resumes. Resources are
named by their logical IDs in the template. The alarms of operations need the metrics of package emf. QueueAge rings after 1 h:
lower it for a queue that keeps its messages for less than 2 h.
`

// alarmsJSON is a copy of that of the Terraform module, because no module can embed files of
// a different one.
//
//go:embed alarms.json
var alarmsJSON []byte

// An alarm is one of the description, with its texts in the template.
type alarm struct {
	Name, Severity, Page, Advice            string
	Namespace, Metric, Statistic, Dimension string
	Outcome, Expression, Label, Missing     string
	Threshold                               float64
	Hours, Period                           int

	ID, Value, Description string
	Metrics                []metric // of an expression
	Actions                []string
}

type metric struct{ ID, Namespace, Name, Dimension, Value, Outcome string }

func (a *alarm) Seconds() int {
	if a.Hours > 0 {
		return 3600
	}
	return cmp.Or(a.Period, 300)
}

// Limit is the threshold, without an exponent.
func (a *alarm) Limit() string { return strconv.FormatFloat(a.Threshold, 'f', -1, 64) }

type alarmFlags struct {
	function, api, queue, deadLetters, failures string
	stream, relay, url                          bool
	operations, resumes, notify, page, ticket   []string
	duplicates                                  float64 // 0: no alarm

	catalog struct {
		Documentation   string
		Pages           map[string]string
		Operation       []alarm
		Function, Relay map[string]alarm
		Resume, Share   map[string]alarm
	}
	made []alarm
}

func (o *alarmFlags) flags(c *cli.Call) {
	c.StringVar(&o.function, "function", "", "the `id` of the function")
	c.List("operation", "the `name` of an operation that writes metrics", &o.operations)
	c.List("resumes", "the `name` of an operation, of a function of handlers.Resume that is invoked every 5 min", &o.resumes)
	c.StringVar(&o.api, "api", "", "the `id` of an HTTP API in front of it")
	c.BoolVar(&o.url, "url", false, "it has a function URL")
	c.StringVar(&o.queue, "queue", "", "the `id` of a queue that feeds it")
	c.StringVar(&o.deadLetters, "dead-letters", "", "the `id` of the dead-letter queue of that queue")
	c.StringVar(&o.failures, "failures", "", "the `id` of a queue with events that Lambda gave up")
	c.BoolVar(&o.stream, "stream", false, "a stream feeds it")
	c.Float64Var(&o.duplicates, "duplicates", 0, "an alarm rings at this `number` of duplicates in 100 calls of an operation; 0: none")
	c.BoolVar(&o.relay, "relay", false, "it is the relay of an outbox")
	c.List("notify", "the `id` of a topic for all alarms", &o.notify)
	c.List("page", "the `id` of a topic for those that need a person now", &o.page)
	c.List("ticket", "the `id` of a topic for those that can wait", &o.ticket)
}

var (
	logicalID = regexp.MustCompile(`^[A-Za-z0-9]+$`)
	dimension = regexp.MustCompile(`^[!-9;-~][ -~]{0,254}$`)
)

func (o *alarmFlags) check() error {
	for _, id := range slices.Concat([]string{o.api, o.queue, o.deadLetters, o.failures}, o.notify, o.page, o.ticket) {
		if id != "" && !logicalID.MatchString(id) {
			return cli.Endf(cli.CodeUsage, "%q is no logical ID, which has letters and digits", id)
		}
	}
	all := slices.Concat(o.operations, o.resumes)
	for i, operation := range all {
		if !dimension.MatchString(operation) || slices.Contains(all[:i], operation) {
			name := "--operation"
			if i >= len(o.operations) {
				name = "--resumes"
			}
			return cli.Endf(cli.CodeUsage, name+" %q is listed twice, or not 1 to 255 ASCII characters without a space or a colon at the beginning", operation)
		}
	}
	switch {
	case !logicalID.MatchString(o.function):
		return cli.Endf(cli.CodeUsage, "set --function to the logical ID of the function, which has letters and digits")
	case !(o.duplicates >= 0 && o.duplicates <= 100):
		return cli.Endf(cli.CodeUsage, "--duplicates is a percentage")
	case o.relay && len(all) > 0:
		return cli.Endf(cli.CodeUsage, "--relay excludes --operation and --resumes: a relay has none")
	}
	return nil
}

func alarms(_ context.Context, c *cli.Call) error {
	var o alarmFlags
	o.flags(c)
	if _, err := c.Arguments(0); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := json.Unmarshal(alarmsJSON, &o.catalog); err != nil {
		return err
	}
	o.ofOperations()
	for _, operation := range o.resumes {
		abandoned := o.catalog.Resume["Abandoned"]
		abandoned.Name = "Abandoned"
		o.add(abandoned, "resume", operation, fmt.Sprintf("%q", operation))
	}
	o.ofFunction()
	return samTemplate.Execute(c.Out, o.made)
}
