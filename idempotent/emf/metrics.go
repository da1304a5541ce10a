package emf

import "slices"

// Namespace is the default namespace of the metrics.
const Namespace = "Once"

// A Metric describes a metric that an [Observer] writes. Dashboards, alarms and
// their tests are built on these descriptions.
type Metric struct {
	Name string
	// Unit is the unit in CloudWatch.
	Unit string
	// Dimensions are the names of one set of dimensions.
	Dimensions []string
}

// Metrics returns every metric, once for each of its sets of dimensions.
func Metrics() []Metric {
	var all []Metric
	for _, d := range append(directives(Namespace), abandoned(Namespace)...) {
		for _, dimensions := range d.Dimensions {
			for _, m := range d.Metrics {
				all = append(all, Metric{Name: m.Name, Unit: m.Unit, Dimensions: slices.Clone(dimensions)})
			}
		}
	}
	return all
}

// directive declares to CloudWatch which members of the line are metrics: each
// of Metrics, for each of the sets of Dimensions.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct{ Name, Unit string }

// abandoned returns the directive of a round of handlers.Resume.
func abandoned(namespace string) []directive {
	return []directive{{namespace, [][]string{{"operation"}}, []definition{{"OldestAbandoned", "Seconds"}}}}
}

// directives returns the three directives of a call. AWS bills every metric of a directive for
// each of its sets of dimensions, so only Calls has the dimension outcome. Only a
// refused call has the last directive.
func directives(namespace string) []directive {
	return []directive{
		{namespace, [][]string{{"operation"}, {"operation", "outcome"}}, []definition{
			{"Calls", "Count"},
		}},
		{namespace, [][]string{{"operation"}}, []definition{
			{"LapsedLeases", "Count"},
			{"Refused", "Count"},
			{"StoreErrors", "Count"},
			{"StoreThrottles", "Count"},
			{"Overhead", "Milliseconds"},
			{"RoundTrips", "Count"},
		}},
		{namespace, [][]string{{"operation", "reason"}}, []definition{
			{"Refused", "Count"},
		}},
	}
}
