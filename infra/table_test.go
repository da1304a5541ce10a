package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
)

const tableType = "AWS::DynamoDB::GlobalTable"

// wantFate checks whether a table outlives its stack, or goes with it.
func wantFate(t *testing.T, table template.Resource, policy string) {
	t.Helper()
	check.Equal(t, table["DeletionPolicy"], policy)
	check.Equal(t, table["UpdateReplacePolicy"], policy)
	for _, replica := range table.Properties()["Replicas"].([]any) {
		check.Equal(t, replica.(map[string]any)["DeletionProtectionEnabled"], policy == "Retain")
	}
}

func TestTableWithKeyOfCustomer(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
		Key: customerKey(stack), Replicas: []Replica{{Region: "eu-central-1", KeyARN: keyThere}}, Writers: WritersInOneRegion,
	})
	table := only(t, synth(t, stack), tableType)
	wantFate(t, table, "Retain")
	got := map[any]any{}
	for _, replica := range table.Properties()["Replicas"].([]any) {
		r := replica.(map[string]any)
		got[r["Region"]] = r["SSESpecification"].(map[string]any)["KMSMasterKeyId"]
		check.Equal(t, r["PointInTimeRecoverySpecification"], map[string]any{"PointInTimeRecoveryEnabled": true}, r["Region"])
	}
	check.Equal(t, got, map[any]any{"eu-west-1": keyHere, "eu-central-1": keyThere})
}

func TestTableIsConfigured(t *testing.T) {
	stack := newStack()
	NewIdempotencyTable(stack, "Demand", &IdempotencyTableProps{Configure: func(p *awsdynamodb.TablePropsV2) {
		p.Billing = awsdynamodb.Billing_OnDemand(&awsdynamodb.MaxThroughputProps{MaxWriteRequestUnits: jsii.Number(4000)})
		p.WarmThroughput = &awsdynamodb.WarmThroughput{WriteUnitsPerSecond: jsii.Number(20000)}
		p.PointInTimeRecoverySpecification.RecoveryPeriodInDays = jsii.Number(7)
	}})
	NewIdempotencyTable(stack, "Provisioned", &IdempotencyTableProps{
		Replicas: []Replica{{Region: "eu-central-1"}}, Writers: WritersInOneRegion, Configure: provisioned,
	})
	tables := synth(t, stack).Resources(tableType)
	demand := tables["Demand"].Properties()
	check.Equal(t, demand["WriteOnDemandThroughputSettings"], any(map[string]any{"MaxWriteRequestUnits": 4000.0}))
	check.Equal(t, demand["WarmThroughput"], any(map[string]any{"WriteUnitsPerSecond": 20000.0}))
	check.Contains(t, demand["Replicas"], "RecoveryPeriodInDays")
	check.Equal(t, tables["Provisioned"].Properties()["BillingMode"], "PROVISIONED")
}

func provisioned(p *awsdynamodb.TablePropsV2) {
	units := func(most int) awsdynamodb.Capacity {
		return awsdynamodb.Capacity_Autoscaled(&awsdynamodb.AutoscaledCapacityOptions{MinCapacity: jsii.Number(100), MaxCapacity: jsii.Number(most)})
	}
	p.Billing = awsdynamodb.Billing_Provisioned(&awsdynamodb.ThroughputProps{ReadCapacity: units(1000), WriteCapacity: units(2000)})
}

func TestConfigureOfATableRefuses(t *testing.T) {
	stack := newStack()
	key := awsdynamodb.TableEncryptionV2_CustomerManagedKey(customerKey(stack), nil)
	wantRefusals(t, map[string]func(*awsdynamodb.TablePropsV2){
		"changes DeletionProtection or RemovalPolicy; set":    func(p *awsdynamodb.TablePropsV2) { p.DeletionProtection = jsii.Bool(false) },
		"changes DeletionProtection or RemovalPolicy; set th": func(p *awsdynamodb.TablePropsV2) { p.RemovalPolicy = removalPolicy(true) },
		"changes Encryption; set the prop Key":                func(p *awsdynamodb.TablePropsV2) { p.Encryption = key },
		"a table in its place would be empty":                 func(p *awsdynamodb.TablePropsV2) { p.PartitionKey = stringKey("pk") },
		"the key or the name of the table":                    func(p *awsdynamodb.TablePropsV2) { p.PartitionKey.Name = jsii.String("pk") },
		"a table in its place would be empty,":                func(p *awsdynamodb.TablePropsV2) { p.SortKey = stringKey("sk") },
		"a table in its place would be empty, so":             func(p *awsdynamodb.TablePropsV2) { p.TableName = jsii.String("records") },
		"changes the Regions; set": func(p *awsdynamodb.TablePropsV2) {
			p.MultiRegionConsistency = awsdynamodb.MultiRegionConsistency_STRONG
		},
		"changes the Regions; set the": func(p *awsdynamodb.TablePropsV2) {
			p.Replicas = &[]*awsdynamodb.ReplicaTableProps{{Region: jsii.String("eu-west-2")}}
		},
		"changes the Regions; set the props": func(p *awsdynamodb.TablePropsV2) { p.WitnessRegion = jsii.String("eu-west-2") },
		"changes TimeToLiveAttribute; set":   func(p *awsdynamodb.TablePropsV2) { p.TimeToLiveAttribute = nil },
		"turns point-in-time recovery off": func(p *awsdynamodb.TablePropsV2) {
			p.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled = jsii.Bool(false)
		},
		"turns point-in-time recovery off, and a": func(p *awsdynamodb.TablePropsV2) {
			p.PointInTimeRecoverySpecification = &awsdynamodb.PointInTimeRecoverySpecification{}
		},
		"turns point-in-time recovery off, and": func(p *awsdynamodb.TablePropsV2) { p.PointInTimeRecoverySpecification = nil },
		"Configure, Replicas, Witness: ": func(p *awsdynamodb.TablePropsV2) {
			p.LocalSecondaryIndexes = &[]*awsdynamodb.LocalSecondaryIndexProps{{IndexName: jsii.String("i"), SortKey: stringKey("s")}}
		},
	}, func(change func(*awsdynamodb.TablePropsV2)) {
		NewIdempotencyTable(newStack(), "Table", &IdempotencyTableProps{Configure: change})
	})
	wantRefusal(t, "Configure, Replicas, Witness: ", func() {
		NewIdempotencyTable(newStack(), "Table", &IdempotencyTableProps{
			Replicas: []Replica{{Region: "eu-central-1"}}, Writers: WritersInOneRegion,
			Configure: func(p *awsdynamodb.TablePropsV2) {
				*(*p.Replicas)[0] = awsdynamodb.ReplicaTableProps{Region: jsii.String("eu-west-2")}
			},
		})
	})
}

// What cannot lock safely, or what CDK or DynamoDB would refuse much later, is
// refused with the reason; the rest is not.
func TestRegions(t *testing.T) {
	one := []Replica{{Region: "eu-central-1"}}
	two := append(one, Replica{Region: "eu-west-2"})
	for name, c := range map[string]struct {
		props IdempotencyTableProps
		words string
	}{
		"a key without a replica's":   {IdempotencyTableProps{Key: customerKey(newStack()), Replicas: one, Writers: WritersInOneRegion}, "eu-central-1 needs the KeyARN"},
		"one Region":                  {IdempotencyTableProps{}, ""},
		"eventual, nothing stated":    {IdempotencyTableProps{Replicas: one}, "two Regions can own one key at once"},
		"eventual, one writer":        {IdempotencyTableProps{Replicas: one, Writers: WritersInOneRegion}, ""},
		"eventual, home Regions":      {IdempotencyTableProps{Replicas: one, Writers: WritersByHomeRegion}, ""},
		"an unknown statement":        {IdempotencyTableProps{Replicas: one, Writers: 9}, "Writers: 9 is unknown"},
		"writers without replicas":    {IdempotencyTableProps{Writers: WritersInOneRegion}, "the table has no Replicas"},
		"strong with time to live":    {IdempotencyTableProps{Replicas: two, Strong: true}, "no time to live on a table with strong consistency"},
		"strong, swept":               {IdempotencyTableProps{Replicas: two, Strong: true, SweptElsewhere: true}, ""},
		"strong, with a witness":      {IdempotencyTableProps{Replicas: one, Strong: true, SweptElsewhere: true, Witness: "eu-west-2"}, ""},
		"strong, two Regions":         {IdempotencyTableProps{Replicas: one, Strong: true, SweptElsewhere: true}, "Configure, Replicas, Witness: "},
		"strong, writers stated":      {IdempotencyTableProps{Replicas: two, Strong: true, SweptElsewhere: true, Writers: WritersByHomeRegion}, "a Strong table locks"},
		"a replica's key alone":       {IdempotencyTableProps{Replicas: []Replica{{Region: "eu-west-2", KeyARN: "arn"}}, Writers: WritersInOneRegion}, "has a KeyARN, but the table has no Key"},
		"swept, without need but can": {IdempotencyTableProps{SweptElsewhere: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, c.words, func() { NewIdempotencyTable(newStack(), "Table", &c.props) })
		})
	}
}

const tableARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/powertools"

// usesImport returns the template of a function whose records are in an imported table.
func usesImport(t *testing.T, props *ImportedTableProps) template.Template {
	t.Helper()
	stack := newStack()
	table := ImportIdempotencyTable(awsdynamodb.TableV2_FromTableArn(stack, jsii.String("Powertools"), jsii.String(tableARN)), props)
	newFunction(t, stack, func(p *IdempotentFunctionProps) {
		p.Table, p.Execute = table, &ExecuteOptions{Operations: []string{"pay"}}
	})
	return synth(t, stack)
}

func TestFunctionUsesAnImportedTable(t *testing.T) {
	check.Contains(t, only(t, usesImport(t, nil), "AWS::Lambda::Function"), "IDEMPOTENCY_TABLE:powertools")
}

func TestImportedTableRefuses(t *testing.T) {
	wantRefusal(t, "table: it is required", func() { ImportIdempotencyTable(nil, nil) })
	wantRefusal(t, "does not contain the operation", func() { usesImport(t, &ImportedTableProps{SortKey: "sk"}) })
}
