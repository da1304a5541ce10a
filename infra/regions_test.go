package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

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
		"strong, four Regions":        {IdempotencyTableProps{Replicas: two, Strong: true, SweptElsewhere: true, Witness: "eu-west-3"}, "Configure, Replicas, Witness: "},
		"strong, writers stated":      {IdempotencyTableProps{Replicas: two, Strong: true, SweptElsewhere: true, Writers: WritersByHomeRegion}, "a Strong table locks"},
		"witness without strong":      {IdempotencyTableProps{Witness: "eu-west-2"}, "Configure, Replicas, Witness: "},
		"the stack's own Region":      {IdempotencyTableProps{Replicas: []Replica{{Region: "eu-west-1"}}, Writers: WritersInOneRegion}, "Configure, Replicas, Witness: "},
		"a Region twice":              {IdempotencyTableProps{Replicas: append(one, one...), Writers: WritersInOneRegion}, "Configure, Replicas, Witness: "},
		"a replica's key alone":       {IdempotencyTableProps{Replicas: []Replica{{Region: "eu-west-2", KeyARN: "arn"}}, Writers: WritersInOneRegion}, "has a KeyARN, but the table has no Key"},
		"strong, far apart":           {IdempotencyTableProps{Replicas: append(one, Replica{Region: "us-east-1"}), Strong: true, SweptElsewhere: true}, "is not in the same region set"},
		"swept, without need but can": {IdempotencyTableProps{SweptElsewhere: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, c.words, func() { NewIdempotencyTable(newStack(), "Table", &c.props) })
		})
	}
}

func TestReplicasNeedTheStacksRegion(t *testing.T) {
	anywhere := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("S"), nil)
	wantRefusal(t, "Configure, Replicas, Witness: ", func() {
		NewIdempotencyTable(anywhere, "Table", &IdempotencyTableProps{Replicas: []Replica{{Region: "eu-central-1"}}, Writers: WritersInOneRegion})
	})
}
