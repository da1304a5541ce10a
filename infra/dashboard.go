package infra

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/appcheck"
)

// DashboardProps are the props of [NewDashboard]. Functions, Operations or
// Relays are required; the zero value of every other field is its default.
type DashboardProps struct {
	// Functions are the functions to show, with their APIs, queues and streams.
	// Default: none.
	Functions []*IdempotentFunction

	// Operations are the names that are passed to idempotent.New. A name that none
	// of Functions states is refused, unless one of them states no operation at
	// all. Default: those that Functions state.
	Operations []string

	// Relays are the relays to show, with their outboxes. Default: none.
	Relays []*Relay
}

// NewDashboard creates a dashboard. Each operation has a row of outcomes and a row of
// overhead, round trips and store errors. Each function or relay has a row with its event
// sources. The rows of operations need the metrics that package emf writes.
//
// NewDashboard panics with a [*PropsError] for props that cannot work, and for more than the 500
// widgets of a dashboard, which are 62 operations.
func NewDashboard(scope constructs.Construct, id string, props *DashboardProps) awscloudwatch.Dashboard {
	p := orZero(props)
	operations := p.Operations
	if operations == nil {
		operations = stated(p.Functions)
	}
	var found problems
	found.when(len(p.Functions)+len(operations)+len(p.Relays) == 0, "Operations: there is nothing to show, neither Functions nor Operations nor Relays")
	found.add(refuseID(scope, id, ""), refuseNames(p.Functions, operations, p.Relays))
	found.panic(scope, id)
	var rows [][]awscloudwatch.IWidget
	add := func(name, about string, widgets ...[]awscloudwatch.IWidget) {
		heading := awscloudwatch.NewTextWidget(&awscloudwatch.TextWidgetProps{Height: jsii.Number(2), Markdown: jsii.String("# " + name + "\n" + about), Width: jsii.Number(24)})
		rows = append(append(rows, []awscloudwatch.IWidget{heading}), widgets...)
	}
	for _, operation := range operations {
		add(operation, "Outcomes, duplicates, and the cost of idempotency.", operationRow(operation), storeRow(operation))
	}
	a := appcheck.AppOf(scope)
	for _, f := range p.Functions {
		add(*f.scope.Node().Id(), "Invocations, waiting events, and events that were given up.", sourceRow(f.watched(a)))
	}
	for _, r := range p.Relays {
		add(*r.scope.Node().Id(), "Published messages, and messages that were given up.", sourceRow(r.watched()))
	}
	n := len(slices.Concat(rows...))
	found.when(n > 500, "Operations: the dashboard has %d widgets, and CloudWatch takes 500; make a second one", n)
	found.panic(scope, id)
	board := awscloudwatch.NewDashboard(scope, &id, nil)
	for _, row := range rows {
		board.AddWidgets(row...)
	}
	return board
}

func operationRow(operation string) []awscloudwatch.IWidget {
	return []awscloudwatch.IWidget{
		graph("Calls by outcome", byOutcome(operation, catalog.Outcomes...)...),
		graph("Share of calls, percent",
			percent(operation, "duplicates", "replayed", "conflict"), percent(operation, "conflicts", "conflict")),
		graph("Needs a look", append(byOutcome(operation, catalog.Alarming...),
			labelled(sum("LapsedLeases", operation), "lapsed leases"))...),
	}
}

func byOutcome(operation string, among ...string) []awscloudwatch.IMetric {
	metrics := make([]awscloudwatch.IMetric, 0, len(among))
	for _, outcome := range among {
		metrics = append(metrics, labelled(calls(operation, outcome), outcome))
	}
	return metrics
}

func storeRow(operation string) []awscloudwatch.IWidget {
	half, tail := metric("Overhead", operation, "p50"), metric("Overhead", operation, "p99")
	return []awscloudwatch.IWidget{
		graph("Added by idempotency, ms", labelled(half, "half of the calls, at most"), labelled(tail, "99 %, at most")),
		graph("Round trips to the store, mean of a call", metric("RoundTrips", operation, "Average")),
		graph("Refused, by reason", refused(operation)...),
		graph("Store", sum("StoreErrors", operation), sum("StoreThrottles", operation)),
	}
}

func refused(operation string) []awscloudwatch.IMetric {
	metrics := []awscloudwatch.IMetric{labelled(sum("Refused", operation), "refused")}
	for _, reason := range catalog.Reasons {
		metrics = append(metrics, labelled(metric("Refused", operation, "Sum", "reason", reason), reason))
	}
	return metrics
}

// sourceRow returns a graph for each title among the signals.
func sourceRow(watched []signal) (row []awscloudwatch.IWidget) {
	var titles []string
	shown := map[string][]awscloudwatch.IMetric{}
	for _, s := range watched {
		if shown[s.Graph] == nil {
			titles = append(titles, s.Graph)
		}
		shown[s.Graph] = append(shown[s.Graph], s.metric)
	}
	for _, title := range titles {
		row = append(row, graph(title, shown[title]...))
	}
	return row
}

func labelled(m awscloudwatch.Metric, label string) awscloudwatch.Metric {
	return m.With(&awscloudwatch.MetricOptions{Label: &label})
}

func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Height: jsii.Number(6), Left: &metrics, LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0)},
		Title: &title, Width: jsii.Number(8),
	})
}
