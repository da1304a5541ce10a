package infra

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lambda-once/once/infra/internal/check"
)

func TestRelay(t *testing.T) {
	stack := newStack()
	newRelay(t, stack, func(p *RelayProps) { p.Environment = map[string]string{"EVENT_BUS": "shop"} })
	deployed := synth(t, stack)
	function := only(t, deployed, "AWS::Lambda::Function").Properties()
	check.Equal(t, function["Timeout"], 30.0)
	check.Equal(t, function["Environment"], map[string]any{"Variables": map[string]any{
		"AWS_LAMBDA_LOG_LEVEL": "INFO", "EVENT_BUS": "shop", "OUTBOX_TABLE": ref("Outbox"),
	}})
	check.Equal(t, only(t, deployed, mappingType).Properties(), map[string]any{
		"BatchSize":                      100.0,
		"BisectBatchOnFunctionError":     true,
		"DestinationConfig":              map[string]any{"OnFailure": map[string]any{"Destination": arn("RelayFailures")}},
		"EventSourceArn":                 map[string]any{"Fn::GetAtt": []any{"Outbox", "StreamArn"}},
		"FilterCriteria":                 map[string]any{"Filters": []any{map[string]any{"Pattern": `{"dynamodb":{"NewImage":{"published":{"N":[{"exists":false}]}}},"eventName":["INSERT","MODIFY"]}`}}},
		"FunctionName":                   ref("RelayFunction"),
		"FunctionResponseTypes":          []any{"ReportBatchItemFailures"},
		"MaximumBatchingWindowInSeconds": 0.0,
		"MaximumRecordAgeInSeconds":      43200.0,
		"MaximumRetryAttempts":           10000.0,
		"ParallelizationFactor":          1.0,
		"StartingPosition":               "TRIM_HORIZON",
	})
}

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
