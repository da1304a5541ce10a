package infra

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

// A relay marks items and reads its stream. It may do nothing else with the outbox,
// and nothing with records.
func TestRelayMayNothingElse(t *testing.T) {
	stack := newStack()
	newRelay(t, stack, nil)
	deployed := synth(t, stack)
	allowed := map[string][]string{}
	for _, s := range deployed.Functions()[0].Statements {
		at := fmt.Sprint(s.Resources)
		allowed[at] = append(allowed[at], s.Actions...)
		slices.Sort(allowed[at])
	}
	check.Contains(t, allowed["[map[Fn::GetAtt:[RelayFailures Arn]]]"], "sqs:SendMessage")
	delete(allowed, "[map[Fn::GetAtt:[RelayFailures Arn]]]")
	check.Equal(t, allowed, map[string][]string{
		"[map[Fn::GetAtt:[Outbox Arn]]]":       {"dynamodb:UpdateItem"},
		"[map[Fn::GetAtt:[Outbox StreamArn]]]": {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"},
	})
}

func TestRelayRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(*RelayProps){
		"Code: it is required":   func(p *RelayProps) { p.Code = "" },
		"Outbox: it is required": func(p *RelayProps) { p.Outbox = nil },
	}, func(change func(*RelayProps)) { newRelay(t, newStack(), change) })
}
