package infra

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/lambda-once/once/infra/internal/bootstrap"
)

// configure lets Configure change the props of a function, and panics if these
// contradict the checks of this package. logs is the function's own log group.
func (p *IdempotentFunctionProps) configure(own constructs.Construct, props *awslambda.FunctionProps, logs awslogs.LogGroup) {
	before, set := snapshot(props), maps.Clone(*props.Environment)
	var found problems
	if p.Configure != nil {
		p.Configure(props)
		found = p.refuseConfigured(&before, props)
	}
	now := map[string]*string{}
	if props.Environment != nil {
		now = *props.Environment
	}
	found.add(refuseChangedVariables(set, now), refuseSize(now))
	found.panic(own, "")
	if props.LogGroup != before.LogGroup {
		own.Node().TryRemoveChild(logs.Node().Id())
	} else if props.Role != nil {
		logs.GrantWrite(props.Role) // CDK lets only the role that it creates write logs
	}
}

func (p *IdempotentFunctionProps) refuseConfigured(before, props *awslambda.FunctionProps) (found problems) {
	const events = "a function has one configuration of events that fail; AddTopic and the like set it, and compare the retention of their failure queue"
	const filter = "a filter on log lines also drops metrics; set the prop LogLevel"
	const zip = "a zip of a Go program needs it; for an image, leave Code empty and set Code, Handler_FROM_IMAGE and Runtime_FROM_IMAGE here"
	advice := map[string]string{
		"ApplicationLogLevel": filter, "ApplicationLogLevelV2": filter,
		"DeadLetterQueue": events, "DeadLetterQueueEnabled": events, "DeadLetterTopic": events,
		"MaxEventAge": events, "OnFailure": events, "OnSuccess": events, "RetryAttempts": events,
		"DurableConfig": "set the prop Durable",
		"Events":        "add sources with AddQueue and the like, which report failures by message and compare retentions",
		"LogRetention":  "set the prop LogRetention; this one deploys a function of its own",
		"MemorySize":    "set the prop of that name",
		"Timeout":       "set the prop of that name, which is compared with the event sources",
	}
	image := props.Runtime != nil && *props.Runtime.Name() == *awslambda.Runtime_FROM_IMAGE().Name()
	if p.Code != "" || !image {
		advice["Handler"], advice["Runtime"] = zip, zip
	}
	if p.Code != "" {
		advice["Code"] = "leave the prop Code empty, or do not set it here"
	}
	if p.Durable != nil {
		advice["CurrentVersionOptions"] = "it keeps the versions of suspended executions"
		advice["FunctionName"] = "Lambda makes a function durable only when it creates it, and two functions cannot have one name; leave the name to CDK"
	}
	found = refuseChanges(before, props, advice)
	found.when(props.Code == nil, "Code: it is required, here or in Configure")
	found.when(props.LogGroup == nil, "Configure: it removes LogGroup; Lambda would keep the logs forever")
	found.when(props.Architecture == nil, "Configure: it removes Architecture; name arm64 or x86_64")
	if most := props.ReservedConcurrentExecutions; most != nil && !unresolved(*most) {
		n := orZero(p.Live).ProvisionedConcurrency
		found.when(float64(n) > *most, "Live.ProvisionedConcurrency: %d is more than ReservedConcurrentExecutions, %g", n, *most)
	}
	if p.Code != "" && props.Architecture != nil {
		err := bootstrap.Check(p.Code, *props.Architecture.Name())
		found.when(err != nil, "Code: %v", err)
	}
	return found
}

// configure lets Configure change the props of a table, and reports changes that
// contradict the checks of this package.
func (p *IdempotencyTableProps) configure(props *awsdynamodb.TablePropsV2) (found problems) {
	if p.Configure == nil {
		return nil
	}
	before := snapshot(props)
	p.Configure(props)
	found = refuseChanges(&before, props, map[string]string{
		"DeletionProtection": "set the prop Ephemeral", "RemovalPolicy": "set the prop Ephemeral",
		"Encryption": "set the prop Key, whose use is then granted", "PointInTimeRecovery": "set PointInTimeRecoverySpecification",
		"MultiRegionConsistency": "set the prop Strong", "PartitionKey": "set the prop ID", "WitnessRegion": "set the prop Witness",
		"SortKey": "set the prop of that name", "TableName": "set the prop of that name",
		"TimeToLiveAttribute": "set the prop Expiration or SweptElsewhere",
	})
	recovery, replicas := props.PointInTimeRecoverySpecification, cmp.Or(props.Replicas, &[]*awsdynamodb.ReplicaTableProps{})
	found.when(recovery == nil || recovery.PointInTimeRecoveryEnabled == nil || !*recovery.PointInTimeRecoveryEnabled, "Configure: it turns point-in-time recovery off, and a call whose record is lost runs again")
	found.when(len(*replicas) != len(p.Replicas), "Configure: it changes Replicas; set the prop of that name")
	return found
}

// refuseChangedVariables reports changes of variables that the props set, and new ones that
// cannot be.
func refuseChangedVariables(set, now map[string]*string) (found problems) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		found.when(now[name] == nil || *now[name] != *set[name], "Configure: it changes or removes the variable %s; set the prop Environment", name)
	}
	added := maps.Clone(now)
	maps.DeleteFunc(added, func(name string, _ *string) bool { return set[name] != nil })
	for _, name := range slices.Sorted(maps.Keys(added)) {
		found.when(added[name] == nil, "Configure: the variable %s is nil; leave it out", name)
	}
	return append(found, refuseEnvironment(maps.Keys(added), nil)...)
}

// refuseSize reports an environment above the limit of Lambda, which measures the JSON of
// its names and values: the error of UpdateFunctionConfiguration quotes that text. A value
// that is known only during the deployment counts as empty.
func refuseSize(environment map[string]*string) (found problems) {
	const most = 4096
	known := map[string]string{}
	for name, value := range environment {
		if known[name] = ""; value != nil && !unresolved(*value) {
			known[name] = *value
		}
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(known) // and a newline
	found.when(err != nil, "Environment: %v", err)
	size := text.Len() - 1
	found.when(size > most, "Environment: as JSON it has %d bytes, and Lambda accepts %d; keep large values in Parameter Store, S3 or the code", size, most)
	return found
}

// snapshot returns a copy of props, with copies of the values to which they point.
func snapshot[P any](props *P) P {
	copied := *props
	for _, field := range reflect.ValueOf(&copied).Elem().Fields() {
		if field.Kind() == reflect.Pointer && !field.IsNil() {
			value := reflect.New(field.Type().Elem())
			value.Elem().Set(field.Elem())
			field.Set(value)
		}
	}
	return copied
}

// refuseChanges reports the fields that Configure has changed, of those with advice.
// Objects of CDK are equal only to themselves.
func refuseChanges[P any](before, after *P, advice map[string]string) (found problems) {
	was, is := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for _, name := range slices.Sorted(maps.Keys(advice)) {
		a, b := was.FieldByName(name), is.FieldByName(name)
		if a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() {
			a, b = a.Elem(), b.Elem()
		}
		found.when(!a.Equal(b), "Configure: it changes %s; %s", name, advice[name])
	}
	return found
}
