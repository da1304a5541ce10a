package infra

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

// Lambda sets these itself, and CDK refuses them in words of its own.
func TestReservedVariablesAreRefused(t *testing.T) {
	for _, name := range reserved() {
		wantRefusal(t, "Environment: "+name+" is reserved by Lambda", func() {
			newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Environment = map[string]string{name: "x"} })
		})
	}
	wantRefusal(t, "Environment: AWS_REGION is reserved by Lambda", func() {
		newRelay(t, newStack(), func(p *RelayProps) { p.Environment = map[string]string{"AWS_REGION": "eu-west-1"} })
	})
}

func TestNamesThatAreNoVariablesAreRefused(t *testing.T) {
	for _, name := range []string{"", "A", "1A", "_A", "A-B", "A B", "A=B", "Ä1"} {
		wantRefusal(t, "is not a letter followed by", func() {
			newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Environment = map[string]string{name: "x"} })
		})
	}
	wantRefusal(t, "", func() {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.Environment = map[string]string{"A1": "x", "aws_x": "y"} })
	})
}

func TestUnknownLogRetentionIsRefused(t *testing.T) {
	const nonsense = awslogs.RetentionDays("FORTNIGHT")
	wantRefusal(t, `LogRetention: "FORTNIGHT" is none`, func() {
		newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.LogRetention = nonsense })
	})
	wantRefusal(t, `LogRetention: "FORTNIGHT" is none`, func() {
		newRelay(t, newStack(), func(p *RelayProps) { p.LogRetention = nonsense })
	})
}

// Each retention that CDK has can be stated.
func TestLogRetentions(t *testing.T) {
	for _, retention := range logRetentions() {
		wantRefusal(t, "", func() {
			newFunction(t, newStack(), func(p *IdempotentFunctionProps) { p.LogRetention = retention })
		})
	}
}
