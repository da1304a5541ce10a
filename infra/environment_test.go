package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

// CDK refuses these names in words of its own.
func TestVariablesThatCannotBeAreRefused(t *testing.T) {
	set := func(name string) func() {
		return func() {
			newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Environment = map[string]string{name: "x"} })
		}
	}
	for _, name := range reserved {
		wantRefusal(t, "Environment: "+name+" is reserved by Lambda", set(name))
	}
	for _, name := range []string{"", "A", "1A", "_A", "A-B", "A B", "A=B", "Ä1"} {
		wantRefusal(t, "is not a letter followed by", set(name))
	}
	for _, name := range []string{"A1", "aws_x"} {
		wantRefusal(t, "", set(name))
	}
	wantRefusal(t, "Environment: AWS_REGION is reserved by Lambda", func() {
		newRelay(t, newStack(), func(p *RelayProps) { p.Environment = map[string]string{"AWS_REGION": "eu-west-1"} })
	})
}

func TestLogRetention(t *testing.T) {
	retain := func(d awslogs.RetentionDays) func() {
		return func() { newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.LogRetention = d }) }
	}
	for _, known := range logRetentions {
		wantRefusal(t, "", retain(known))
	}
	wantRefusal(t, `LogRetention: "FORTNIGHT" is none`, retain("FORTNIGHT"))
	wantRefusal(t, `LogRetention: "FORTNIGHT" is none`, func() {
		newRelay(t, newStack(), func(p *RelayProps) { p.LogRetention = "FORTNIGHT" })
	})
}
