package emf

import "slices"

// Namespace is that of the metrics, unless Options say otherwise.
const Namespace = "Once"

// Metric is one that an [Observer] writes, for what is built on them:
// dashboards, alarms, and the tests that hold those against this list.
type Metric struct {
	Name string
	// Unit is CloudWatch's.
	Unit string
	// Dimensions are the names of one set.
	Dimensions []string
}

// Metrics gives every metric, once for each of its sets of dimensions.
func Metrics() []Metric {
	var all []Metric
	for _, d := range directives(Namespace) {
		for _, dimensions := range d.Dimensions {
			for _, m := range d.Metrics {
				all = append(all, Metric{Name: m.Name, Unit: m.Unit, Dimensions: slices.Clone(dimensions)})
			}
		}
	}
	return all
}

// directive tells CloudWatch which members of the line are metrics: each of
// Metrics, for each of the sets of Dimensions.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct{ Name, Unit string }

// Two, as every metric of a directive is a metric, and is paid for, in each of
// its sets: only calls are worth telling apart by their outcome.
func directives(namespace string) []directive {
	return []directive{
		{namespace, [][]string{{"operation"}, {"operation", "outcome"}}, []definition{
			{"Calls", "Count"},
		}},
		{namespace, [][]string{{"operation"}}, []definition{
			{"StoreErrors", "Count"},
			{"StoreThrottles", "Count"},
			{"Overhead", "Milliseconds"},
			{"RoundTrips", "Count"},
		}},
	}
}
