package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
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
		"one Region":                  {IdempotencyTableProps{}, ""},
		"eventual, nothing stated":    {IdempotencyTableProps{Replicas: one}, "two Regions can own one key at once"},
		"eventual, one writer":        {IdempotencyTableProps{Replicas: one, Writers: WritersInOneRegion}, ""},
		"eventual, home Regions":      {IdempotencyTableProps{Replicas: one, Writers: WritersByHomeRegion}, ""},
		"an unknown statement":        {IdempotencyTableProps{Replicas: one, Writers: 9}, "Writers: 9 is unknown"},
		"writers without replicas":    {IdempotencyTableProps{Writers: WritersInOneRegion}, "the table has no Replicas"},
		"strong with time to live":    {IdempotencyTableProps{Replicas: two, Strong: true}, "no time to live on a table with strong consistency"},
		"strong, swept":               {IdempotencyTableProps{Replicas: two, Strong: true, SweptElsewhere: true}, ""},
		"strong, with a witness":      {IdempotencyTableProps{Replicas: one, Strong: true, SweptElsewhere: true, Witness: "eu-west-2"}, ""},
		"strong, two Regions":         {IdempotencyTableProps{Replicas: one, Strong: true, SweptElsewhere: true}, "two Replicas, or one and a Witness"},
		"strong, four Regions":        {IdempotencyTableProps{Replicas: two, Strong: true, SweptElsewhere: true, Witness: "eu-west-3"}, "two Replicas, or one and a Witness"},
		"strong, witness twice":       {IdempotencyTableProps{Replicas: one, Strong: true, SweptElsewhere: true, Witness: "eu-central-1"}, "it is a Region of the Replicas"},
		"strong, witness at home":     {IdempotencyTableProps{Replicas: one, Strong: true, SweptElsewhere: true, Witness: "eu-west-1"}, "eu-west-1 is the Region of the stack"},
		"strong, writers stated":      {IdempotencyTableProps{Replicas: two, Strong: true, SweptElsewhere: true, Writers: WritersByHomeRegion}, "a Strong table locks"},
		"witness without strong":      {IdempotencyTableProps{Witness: "eu-west-2"}, "only a Strong table has one"},
		"the stack's own Region":      {IdempotencyTableProps{Replicas: []Replica{{Region: "eu-west-1"}}, Writers: WritersInOneRegion}, "eu-west-1 is listed twice"},
		"a Region twice":              {IdempotencyTableProps{Replicas: append(one, one...), Writers: WritersInOneRegion}, "eu-central-1 is listed twice"},
		"a replica without a Region":  {IdempotencyTableProps{Replicas: []Replica{{}}, Writers: WritersInOneRegion}, "a Region is empty"},
		"a replica's key alone":       {IdempotencyTableProps{Replicas: []Replica{{Region: "eu-west-2", KeyARN: "arn"}}, Writers: WritersInOneRegion}, "has a KeyARN, but the table has no Key"},
		"a Region that is none":       {IdempotencyTableProps{Replicas: []Replica{{Region: "eu-central1"}}, Writers: WritersInOneRegion}, `Replicas: "eu-central1" is no Region`},
		"a Region that is a token":    {IdempotencyTableProps{Replicas: []Replica{{Region: *awscdk.Aws_REGION()}}, Writers: WritersInOneRegion}, "Replicas: a Region is a token"},
		"a witness that is no Region": {IdempotencyTableProps{Replicas: one, Strong: true, SweptElsewhere: true, Witness: "eu"}, `Witness: "eu" is no Region`},
		"strong, far apart":           {IdempotencyTableProps{Replicas: append(one, Replica{Region: "us-east-1"}), Strong: true, SweptElsewhere: true}, "is not in the same region set"},
		"swept, without need but can": {IdempotencyTableProps{SweptElsewhere: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, c.words, func() { NewIdempotencyTable(newStack(), "Table", &c.props) })
		})
	}
}

func TestReplicaNeedsItsKey(t *testing.T) {
	stack := newStack()
	wantRefusal(t, "eu-central-1 needs the KeyARN", func() {
		NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
			Key: awskms.NewKey(stack, jsii.String("Key"), nil), Replicas: []Replica{{Region: "eu-central-1"}}, Writers: WritersInOneRegion,
		})
	})
}

func TestKeyOfAReplicaIsAKeyThere(t *testing.T) {
	for arn, words := range map[string]string{
		keyThere: "", keyHere: "is not the ARN of a key there", "arn:aws:kms:eu-central-1:111122223333:alias/b": "an alias is none", *awscdk.Aws_STACK_ID(): "",
	} {
		stack := newStack()
		wantRefusal(t, words, func() {
			NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{
				Key: customerKey(stack), Replicas: []Replica{{Region: "eu-central-1", KeyARN: arn}}, Writers: WritersInOneRegion,
			})
		})
	}
}

func TestReplicasNeedTheStacksRegion(t *testing.T) {
	anywhere := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("S"), nil)
	wantRefusal(t, "must have an explicit Region", func() {
		NewIdempotencyTable(anywhere, "Table", &IdempotencyTableProps{Replicas: []Replica{{Region: "eu-central-1"}}, Writers: WritersInOneRegion})
	})
}
