package infra

import (
	"cmp"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
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

	// Key encrypts the table; replicas have keys of their own. The grants of this package
	// then include the use of the keys. Default: a key that DynamoDB owns, free of charge.
	Key awskms.IKey

	// Replicas are the other Regions of the table. The stack must then have an
	// explicit Region, and either Writers or Strong must be set. Default: none.
	Replicas []Replica

	// Resume adds the index that a function of [NewResume] reads. Its entries are keys and
	// leases of records in progress; each costs the writes of a claim and of its end once more.
	// Default: false.
	Resume bool

	// Strong makes reads and conditions see the latest write of any Region. It
	// needs two Replicas, or one and Witness. Such a table has neither time to live
	// nor transactions, and cannot be changed later. Default: false.
	Strong bool

	// SweptElsewhere turns time to live off, as Strong requires. A program of yours
	// must then delete expired items, or the table grows forever. Its role needs
	// [IdempotencyTable.GrantSweep]. Default: false.
	SweptElsewhere bool

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
	props   IdempotencyTableProps
	sortKey string    // of an import
	arns    []*string // of all its Regions
}

// NewIdempotencyTable creates the table of the records, with the default attributes of package
// dynamo. It is billed on demand, with time to live and point-in-time recovery. If props is nil,
// all defaults apply. For a table with a name or attributes of your own, see
// [ImportIdempotencyTable].
//
// A table under a different id, or in a different stack, is a new and empty one, in which every
// repetition of an earlier call runs again: keep the id and the path of the construct. A table that
// is restored from a backup lacks later completions, and duplicates of those calls run again.
//
// NewIdempotencyTable panics with a [*PropsError] for several Regions that cannot
// lock safely.
func NewIdempotencyTable(scope constructs.Construct, id string, props *IdempotencyTableProps) *IdempotencyTable {
	p := orZero(props)
	found := append(p.refuseUnsafeRegions(), refuseKey(p.Key)...)
	append(found, refuseID(scope, id, "")...).panic(scope, id)

	table := tableProps("id", p.Ephemeral)
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
	if !p.SweptElsewhere {
		table.TimeToLiveAttribute = jsii.String("expiration")
	}
	if p.Resume {
		table.GlobalSecondaryIndexes = &[]*awsdynamodb.GlobalSecondaryIndexPropsV2{{
			IndexName: jsii.String(lapsedIndex), ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
			PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("in_progress_expiration"), Type: awsdynamodb.AttributeType_NUMBER},
		}}
	}
	if p.Strong {
		table.MultiRegionConsistency = awsdynamodb.MultiRegionConsistency_STRONG
	}
	p.configure(table).panic(scope, id)
	// CDK refuses Regions that no Strong table may combine.
	return build(scope, id, "Configure, Replicas, Witness", func() *IdempotencyTable {
		made := awsdynamodb.NewTableV2(scope, &id, table)
		arns := []*string{made.TableArn()}
		for _, r := range p.Replicas {
			// Once for each Region: a second call would create the same construct.
			arns = append(arns, made.Replica(&r.Region).TableArn())
		}
		return &IdempotencyTable{Table: made, props: p, arns: arns}
	})
}

// lapsedIndex is dynamo.LapsedIndex.
const lapsedIndex = "lapsed"

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
	found.when(p.Resume && props.GlobalSecondaryIndexes != before.GlobalSecondaryIndexes, "Configure: it replaces the index of Resume; append to *GlobalSecondaryIndexes in place")
	expires := equals(props.TimeToLiveAttribute, "expiration")
	found.when(p.SweptElsewhere && props.TimeToLiveAttribute != nil || !p.SweptElsewhere && !expires, "Configure: it changes TimeToLiveAttribute; set the prop SweptElsewhere")
	recovery := cmp.Or(props.PointInTimeRecoverySpecification, &awsdynamodb.PointInTimeRecoverySpecification{})
	found.when(!equals(recovery.PointInTimeRecoveryEnabled, true), "Configure: it turns point-in-time recovery off, and a call whose record is lost runs again")
	return found
}

// equals reports whether a value is set to the wanted one, which Configure may change in place.
func equals[T comparable](value *T, wanted T) bool { return value != nil && *value == wanted }

// ImportedTableProps are the props of [ImportIdempotencyTable]. They declare facts that
// CDK does not tell. The zero value of every field is its default.
type ImportedTableProps struct {
	// Resume states that the table has the index that a function of [NewResume] reads: "lapsed",
	// with the attribute of the lease as its partition key, and keys alone. Default: false.
	Resume bool

	// SortKey is the name of the table's sort key, as in Options.Layout of package
	// dynamo. Default: none.
	SortKey string
}

// ImportIdempotencyTable uses a table of yours for the records: one that is created
// elsewhere in the app, or an import, also the table of Powertools. Grants and functions
// then work as with [NewIdempotencyTable]. They are for the Region of the stack alone.
// Import an encrypted table with its EncryptionKey, whose use the grants then include.
//
// The table needs a partition key that is a string, and time to live on the attribute of
// expiration, "id" and "expiration" by default. ImportIdempotencyTable checks neither.
//
// ImportIdempotencyTable panics with a [*PropsError] if table is nil.
func ImportIdempotencyTable(table awsdynamodb.ITable, props *ImportedTableProps) *IdempotencyTable {
	if table == nil {
		panic(&PropsError{Construct: "ImportIdempotencyTable", Problems: []string{"table: it is required"}})
	}
	p := orZero(props)
	return &IdempotencyTable{
		Table: table, arns: []*string{table.TableArn()}, sortKey: p.SortKey,
		props: IdempotencyTableProps{Key: table.EncryptionKey(), Resume: p.Resume},
	}
}

// tableProps returns the props of every table, of records or of messages.
func tableProps(partitionKey string, ephemeral bool) *awsdynamodb.TablePropsV2 {
	return &awsdynamodb.TablePropsV2{
		Billing:            awsdynamodb.Billing_OnDemand(nil),
		DeletionProtection: jsii.Bool(!ephemeral),
		PartitionKey:       stringKey(partitionKey),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
		RemovalPolicy: removalPolicy(ephemeral),
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

// refuseUnsafeRegions reports Regions in which two calls could own one key, and props that would be
// ignored. CDK refuses Regions that no table can have.
func (p *IdempotencyTableProps) refuseUnsafeRegions() (found problems) {
	several := len(p.Replicas) > 0
	for _, r := range p.Replicas {
		found.when(p.Key != nil && r.KeyARN == "", "Replicas: %s needs the KeyARN of a key there, as the table has a Key", r.Region)
		found.when(p.Key == nil && r.KeyARN != "", "Replicas: %s has a KeyARN, but the table has no Key", r.Region)
	}
	found.when(p.Writers > WritersByHomeRegion, "Writers: %d is unknown", p.Writers)
	found.when(!several && p.Writers != WritersAnywhere, "Writers: the table has no Replicas")
	found.when(several && !p.Strong && p.Writers == WritersAnywhere,
		"Writers: each eventually consistent replica evaluates conditions on its own state, so that two Regions can own one key at once. "+
			"State WritersInOneRegion or WritersByHomeRegion if that is so, or make the table Strong")
	found.when(several && p.Strong && p.Writers != WritersAnywhere, "Writers: a Strong table locks with writers anywhere; leave it out")
	found.when(p.Strong && !p.SweptElsewhere,
		"Strong: DynamoDB has no time to live on a table with strong consistency across Regions, so that expired records stay. "+
			"Run a program that deletes them (see GrantSweep), and set SweptElsewhere")
	return found
}
