package infra

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/regioninfo"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// IdempotencyTableProps are the props of [NewIdempotencyTable]. The zero value
// of every field is its default.
type IdempotencyTableProps struct {
	// Configure changes the props of CDK before the table is created: provisioned
	// billing, a maximum of on-demand units, warm throughput, a stream. It cannot change
	// those that this package sets. Default: none.
	Configure func(*awsdynamodb.TablePropsV2)

	// Ephemeral deletes the table with its stack, as well as the logs, the
	// dead-letter queues and the failure queues of its functions. The table has no
	// deletion protection. Set it for temporary stages. Default: false. The table
	// is protected, and retained when its stack is deleted.
	Ephemeral bool

	// Expiration is the attribute of time to live, as in Options.Attributes of
	// package dynamo. Default: "expiration".
	Expiration string

	// ID is the name of the partition key. Default: "id".
	ID string

	// Key encrypts the table; replicas have keys of their own. The grants of this package
	// then include the use of the keys. Default: a key that DynamoDB owns, free of charge.
	Key awskms.IKey

	// Replicas are the other Regions of the table. The stack must then have an
	// explicit Region, and either Writers or Strong must be set. Default: none.
	Replicas []Replica

	// SortKey makes the keys composite, as Options.Attributes.SortKey of package
	// dynamo does. Default: none.
	SortKey string

	// Strong makes reads and conditions see the latest write of any Region. It
	// needs two Replicas, or one and Witness. Such a table has neither time to live
	// nor transactions, and cannot be changed later. Default: false.
	Strong bool

	// SweptElsewhere turns time to live off, as Strong requires. A program of yours
	// must then delete expired items, or the table grows forever. Its role needs
	// [IdempotencyTable.GrantSweep]. Default: false.
	SweptElsewhere bool

	// TableName is the name of the table. Default: CloudFormation generates one.
	TableName string

	// Witness is the Region that votes for a Strong table without storing its
	// items. Default: none.
	Witness string

	// Writers states which Regions write to a table with eventually consistent
	// Replicas. Default: WritersAnywhere, which is refused.
	Writers Writers
}

// An IdempotencyTable is a table of records. Create one with
// [NewIdempotencyTable], or use one of yours with [ImportIdempotencyTable].
type IdempotencyTable struct {
	Table awsdynamodb.ITable

	records
	props IdempotencyTableProps
	arns  []*string // of all its Regions
}

// NewIdempotencyTable creates the table of the records. It is billed on demand, with time
// to live and point-in-time recovery. If props is nil, all defaults apply.
//
// A table that is restored from a backup lacks later completions: duplicates of
// those calls run again.
//
// NewIdempotencyTable panics with a [*PropsError] for several Regions that cannot
// lock safely.
func NewIdempotencyTable(scope constructs.Construct, id string, props *IdempotencyTableProps) *IdempotencyTable {
	p := filled(props, IdempotencyTableProps{Expiration: "expiration", ID: "id"})
	found := append(refuseUnsafeRegions(scope, &p), refuseTableName(p.TableName)...)
	found.when(p.ID == p.SortKey || p.ID == p.Expiration || p.SortKey == p.Expiration,
		"ID: %q, SortKey: %q and Expiration: %q are not three different attributes", p.ID, p.SortKey, p.Expiration)
	for _, name := range []string{p.ID, p.SortKey, p.Expiration} {
		found.when(len(name) > 255, "ID, SortKey, Expiration: %q is longer than 255 bytes", name)
	}
	found = append(found, refuseKey(p.Key)...)
	append(found, refuseID(scope, id, "")...).panic(scope, id)

	table := tableProps(p.TableName, p.ID, p.Ephemeral)
	table.WitnessRegion = named(p.Witness)
	var replicas []*awsdynamodb.ReplicaTableProps
	keys := map[string]*string{}
	for _, r := range p.Replicas {
		replicas = append(replicas, &awsdynamodb.ReplicaTableProps{Region: &r.Region})
		keys[r.Region] = &r.KeyARN
	}
	if len(replicas) > 0 {
		table.Replicas = &replicas
	}
	if p.Key != nil {
		table.Encryption = awsdynamodb.TableEncryptionV2_CustomerManagedKey(p.Key, &keys)
	}
	if p.SortKey != "" {
		table.SortKey = stringKey(p.SortKey)
	}
	if !p.SweptElsewhere {
		table.TimeToLiveAttribute = &p.Expiration
	}
	if p.Strong {
		table.MultiRegionConsistency = awsdynamodb.MultiRegionConsistency_STRONG
	}
	p.configure(table).panic(scope, id)
	var made awsdynamodb.TableV2
	var arns []*string
	refused := attempt(func() {
		made = awsdynamodb.NewTableV2(scope, &id, table)
		arns = append(arns, made.TableArn())
		for _, r := range p.Replicas {
			// Once for each Region: a second call would create the same construct.
			arns = append(arns, made.Replica(&r.Region).TableArn())
		}
	})
	found.when(refused != "", "Configure, Replicas, Witness: %s", refused) // Regions that no Strong table may combine
	found.panic(scope, id)
	return &IdempotencyTable{Table: made, props: p, arns: arns}
}

// tableProps returns the props of every table, of records or of messages.
func tableProps(name, partitionKey string, ephemeral bool) *awsdynamodb.TablePropsV2 {
	return &awsdynamodb.TablePropsV2{
		Billing:            awsdynamodb.Billing_OnDemand(nil),
		DeletionProtection: jsii.Bool(!ephemeral),
		PartitionKey:       stringKey(partitionKey),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		RemovalPolicy: removalPolicy(ephemeral),
		TableName:     named(name),
	}
}

// named returns nil for "", for which CloudFormation generates a name or uses none.
func named(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

func stringKey(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: &name, Type: awsdynamodb.AttributeType_STRING}
}

// A Replica is a copy of a table in a second Region.
type Replica struct {
	Region string
	// KeyARN is the ARN of the key that encrypts this replica. It is required
	// with IdempotencyTableProps.Key, and refused without.
	KeyARN string
}

// Writers states which Regions write to a table with eventually consistent replicas. Such a
// replica evaluates a condition on its own state, and the last writer wins. Two Regions can
// therefore own one key at the same time without noticing it.
type Writers uint8

const (
	// WritersAnywhere means that any Region may write. Only a Strong table
	// locks safely then.
	WritersAnywhere Writers = iota
	// WritersInOneRegion means that one Region writes. The rest read, or stand
	// by. A failover loses claims and completions that were not replicated yet.
	WritersInOneRegion
	// WritersByHomeRegion means that several Regions write, but each key only
	// in its home Region. The callers must ensure that.
	WritersByHomeRegion
)

func refuseUnsafeRegions(scope constructs.Construct, p *IdempotencyTableProps) (found problems) {
	if scope == nil {
		return nil // refuseID reports it
	}
	region := awscdk.Stack_Of(scope).Region()
	explicit := !*awscdk.Token_IsUnresolved(region)
	regions := map[string]bool{}
	if explicit {
		regions[*region] = true
	}
	for _, r := range p.Replicas {
		found.when(r.Region == "", "Replicas: a Region is empty")
		found = append(found, refuseUnknownRegion("Replicas", r.Region)...)
		if p.Key != nil && r.KeyARN != "" && !unresolved(r.KeyARN) {
			found.when(!strings.Contains(r.KeyARN, ":"+r.Region+":") || !strings.Contains(r.KeyARN, ":key/"),
				"Replicas: %s has the KeyARN %q, which is not the ARN of a key there; an alias is none", r.Region, r.KeyARN)
		}
		found.when(regions[r.Region], "Replicas: %s is listed twice, or is the Region of the stack", r.Region)
		found.when(p.Key != nil && r.KeyARN == "", "Replicas: %s needs the KeyARN of a key there, as the table has a Key", r.Region)
		found.when(p.Key == nil && r.KeyARN != "", "Replicas: %s has a KeyARN, but the table has no Key", r.Region)
		regions[r.Region] = true
	}
	found = append(found, refuseUnknownRegion("Witness", p.Witness)...)
	found.when(p.Witness != "" && explicit && p.Witness == *region, "Witness: %s is the Region of the stack, which contains the table", p.Witness)
	several := len(p.Replicas) > 0
	found.when(several && !explicit, "Replicas: the stack must have an explicit Region (StackProps.Env)")
	found.when(!slices.Contains([]Writers{WritersAnywhere, WritersInOneRegion, WritersByHomeRegion}, p.Writers), "Writers: %d is unknown", p.Writers)
	found.when(!several && p.Writers != WritersAnywhere, "Writers: the table has no Replicas")
	found.when(several && !p.Strong && p.Writers == WritersAnywhere,
		"Writers: each eventually consistent replica evaluates conditions on its own state, so that two Regions can own one key at once. "+
			"State WritersInOneRegion or WritersByHomeRegion if that is so, or make the table Strong")
	return append(found, refuseUnsafeStrong(p)...)
}

// refuseUnknownRegion reports a Region that is a token or misspelled.
func refuseUnknownRegion(name, region string) (found problems) {
	if region == "" {
		return nil
	}
	token := unresolved(region)
	found.when(token, "%s: a Region is a token, whose value is known only during the deployment; use a text", name)
	found.when(!token && regioninfo.RegionInfo_Get(&region).DomainSuffix() == nil, "%s: %q is no Region that this version of CDK knows", name, region)
	return found
}

func refuseUnsafeStrong(p *IdempotencyTableProps) (found problems) {
	if !p.Strong {
		found.when(p.Witness != "", "Witness: only a Strong table has one")
		return found
	}
	found.when(p.Writers != WritersAnywhere, "Writers: a Strong table locks with writers anywhere; leave it out")
	found.when(!(len(p.Replicas) == 2 && p.Witness == "") && !(len(p.Replicas) == 1 && p.Witness != ""),
		"Strong: it needs two Replicas, or one and a Witness")
	found.when(slices.ContainsFunc(p.Replicas, func(r Replica) bool { return r.Region == p.Witness }), "Witness: it is a Region of the Replicas")
	found.when(!p.SweptElsewhere,
		"Strong: DynamoDB has no time to live on a table with strong consistency across Regions, so that expired records stay. "+
			"Run a program that deletes them (see GrantSweep), and set SweptElsewhere")
	return found
}
