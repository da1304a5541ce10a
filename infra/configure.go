package infra

import (
	"cmp"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/lambda-once/once/infra/internal/bootstrap"
)

// configure lets Configure change the props of a function, and panics for changes with which
// deploy would do something else than the props of this package state. Check examines the rest.
// logs is the function's own log group.
func (p *IdempotentFunctionProps) configure(own constructs.Construct, props *awslambda.FunctionProps, logs awslogs.LogGroup) {
	before := *props
	var found problems
	if p.Configure != nil {
		p.Configure(props)
		found.when(p.Code != "" && props.Code != before.Code, "Configure: it changes Code; leave the prop Code empty, or do not set it here")
		found.when(props.DurableConfig != before.DurableConfig, "Configure: it changes DurableConfig; set the prop Durable")
		found.when(p.Durable != nil && props.CurrentVersionOptions != before.CurrentVersionOptions,
			"Configure: it changes CurrentVersionOptions; it keeps the versions of suspended executions")
		found.when(p.Durable != nil && props.FunctionName != nil,
			"Configure: it changes FunctionName; Lambda makes a function durable only when it creates it, and two functions cannot have one name; leave the name to CDK")
		if p.Code != "" && props.Architecture != nil {
			err := bootstrap.Check(p.Code, *props.Architecture.Name())
			found.when(err != nil, "Code: %v", err)
		}
	}
	found.when(props.Code == nil, "Code: it is required, here or in Configure")
	found.panic(own, "")
	if props.LogGroup != before.LogGroup {
		own.Node().TryRemoveChild(logs.Node().Id())
	} else if props.Role != nil {
		logs.GrantWrite(props.Role) // CDK lets only the role that it creates write logs
	}
}

// configure lets Configure change the props of a table, and reports changes by which records
// would be lost or out of reach.
func (p *IdempotencyTableProps) configure(props *awsdynamodb.TablePropsV2) (found problems) {
	if p.Configure == nil {
		return nil
	}
	before := *props
	p.Configure(props)
	key := cmp.Or(props.PartitionKey, &awsdynamodb.Attribute{})
	found.when(!equals(key.Name, "id") || key.Type != awsdynamodb.AttributeType_STRING || props.SortKey != nil || props.TableName != nil,
		"Configure: it changes the key or the name of the table, and a table in its place would be empty, so that every repetition runs again; make such a table with CDK, and use ImportIdempotencyTable")
	found.when(!equals(props.DeletionProtection, !p.Ephemeral) || props.RemovalPolicy != before.RemovalPolicy, "Configure: it changes DeletionProtection or RemovalPolicy; set the prop Ephemeral")
	found.when(props.Encryption != before.Encryption, "Configure: it changes Encryption; set the prop Key, whose use is then granted")
	found.when(props.MultiRegionConsistency != before.MultiRegionConsistency || props.Replicas != before.Replicas || props.WitnessRegion != before.WitnessRegion,
		"Configure: it changes the Regions; set the props Replicas, Strong and Witness")
	expires := equals(props.TimeToLiveAttribute, "expiration")
	found.when(p.SweptElsewhere && props.TimeToLiveAttribute != nil || !p.SweptElsewhere && !expires, "Configure: it changes TimeToLiveAttribute; set the prop SweptElsewhere")
	recovery := cmp.Or(props.PointInTimeRecoverySpecification, &awsdynamodb.PointInTimeRecoverySpecification{})
	found.when(!equals(recovery.PointInTimeRecoveryEnabled, true), "Configure: it turns point-in-time recovery off, and a call whose record is lost runs again")
	return found
}

// equals reports whether a value is set to the wanted one, which Configure may change in place.
func equals[T comparable](value *T, wanted T) bool { return value != nil && *value == wanted }
