package appcheck

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
)

// timeout finds a source that gives up while the function still runs. A source with a mapping
// waits for the whole execution of a durable function.
func (x *examined) timeout() {
	for _, m := range x.mappings {
		waits := maxMappingTime
		if m.Kind == OfTopic || m.Kind == ofBroker {
			waits = maxBrokerTime
		}
		x.when(x.f.Longest() > waits, m.At, "lower the timeout, or start executions from a dispatcher (Dispatches)",
			"it waits %s for a function that may run for %s", waits, x.f.Longest())
	}
	for _, api := range x.Inlets(x.f) {
		x.when(api.waits > 0 && x.f.Longest() > api.waits, api.at, "lower the timeout of the function, or put a queue between them",
			"the API waits %s for a function that may run for %s, and returns an error while it runs", api.waits, x.f.Longest())
	}
}

// tableSchema returns the keys of the table of the records, its types by attribute, and whether it
// has time to live, or cannot have it, if the app creates it.
func (x *examined) tableSchema() (keys, types map[string]string, expires, known bool) {
	if x.f.Table == nil {
		return nil, nil, false, false
	}
	var schema, attributes any
	of := x.f.Table.Node().DefaultChild()
	switch made := of.(type) {
	case awsdynamodb.CfnGlobalTable:
		schema, attributes = made.KeySchema(), made.AttributeDefinitions()
		expires = In(made, made.TimeToLiveSpecification(), "enabled") == true || plain(made, made.MultiRegionConsistency()) == "STRONG"
	case awsdynamodb.CfnTable:
		schema, attributes, expires = made.KeySchema(), made.AttributeDefinitions(), In(made, made.TimeToLiveSpecification(), "enabled") == true
	default:
		return nil, nil, false, false
	}
	byName := func(list any, of, value string) map[string]string {
		found := map[string]string{}
		all, _ := plain(x.f.Table, list).([]any)
		for _, one := range all {
			object, _ := one.(map[string]any)
			name, _ := object[of].(string)
			found[name], _ = object[value].(string)
		}
		return found
	}
	return byName(schema, "keyType", "attributeName"), byName(attributes, "attributeName", "attributeType"), expires, true
}

// tableKeys finds a table whose items cannot be records.
func (x *examined) tableKeys() {
	keys, types, _, known := x.tableSchema()
	x.when(known && types[keys["HASH"]] != "S", x.f.Table, "use a table whose partition key is a string",
		"its partition key %q is of type %s, and the ids of records are strings", keys["HASH"], types[keys["HASH"]])
	x.when(known && keys["RANGE"] != x.f.SortKey, x.f.Table, "declare SortKey of ImportIdempotencyTable, and set Options.Layout.SortKey of package dynamo",
		"its sort key is %q, and the declared one is %q", keys["RANGE"], x.f.SortKey)
}

// tableTTL finds a table that grows forever.
func (x *examined) tableTTL() {
	_, _, expires, known := x.tableSchema()
	x.when(known && !x.f.Swept && !expires, x.f.Table, "set TimeToLiveAttribute of the table",
		"it has no time to live, and expired records stay")
}

// environment returns the variables of a function that the app creates.
func (x *examined) environment() (of awslambda.CfnFunction, set map[string]any) {
	made, created := x.f.made()
	if !created {
		return nil, nil
	}
	set, _ = In(made, made.Environment(), "variables").(map[string]any) // nil without one
	return made, set
}

// variables finds a function that would open a different store, also behind an alias.
func (x *examined) variables() {
	made, set := x.environment()
	if made == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(x.f.Variables)) {
		x.when(asJSON(set[name]) != asJSON(plain(made, x.f.Variables[name])), made, "set the variable to that of the store",
			"its variable %s is %s, and that of the store %s", name, asJSON(set[name]), asJSON(plain(made, x.f.Variables[name])))
	}
}

// disabled finds a function that repeats every call.
func (x *examined) disabled() {
	made, set := x.environment()
	_, off := set["ONCE_DISABLED"]
	x.when(off, made, "remove the variable", "it has ONCE_DISABLED, with which every duplicate runs")
}

// logFilter finds a function whose metrics Lambda drops: it takes those in the log for lines of
// level INFO.
func (x *examined) logFilter() {
	made, set := x.environment()
	if made == nil || set["ONCE_METRICS"] == nil {
		return
	}
	level, _ := In(made, made.LoggingConfig(), "applicationLogLevel").(string)
	x.when(slices.Contains([]string{"WARN", "ERROR", "FATAL"}, level), made, "leave ApplicationLogLevel at INFO, and set the level of the program's logger",
		"its ApplicationLogLevel is %s, and Lambda would drop the metrics in its log", level)
}

// functionAlarms finds a function without alarms in a stack in which others have them.
func (x *examined) functionAlarms() {
	stack := *awscdk.Stack_Of(x.f.Scope).Node().Path()
	others := slices.ContainsFunc(x.functions(), func(f *Function) bool {
		return f.Alarmed != nil && *awscdk.Stack_Of(f.Scope).Node().Path() == stack
	})
	x.when(others && x.f.Alarmed == nil, x.f.Scope, "add the function to AlarmsProps.Functions", "NewAlarms watches other functions, and not this one")
}

// sourceAlarms finds a source that was added after the alarms.
func (x *examined) sourceAlarms() {
	if x.f.Alarmed == nil {
		return
	}
	for _, source := range x.f.Sources(x.App) {
		x.when(!x.f.Alarmed[source], x.f.Scope, "call NewAlarms after the last source is added",
			"the source %s was added after the alarms, and has none of its own", source)
	}
}
