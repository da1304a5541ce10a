package infra

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/template"
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
	breakSources(t, deployed, mappingType, map[string]template.Rule{
		"FunctionResponseTypes": template.Report, "DestinationConfig": template.DLQ, "BisectBatchOnFunctionError": template.DLQ,
		"FilterCriteria": template.Relayed, "EventSourceArn": template.Relayed,
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
	obeys(t, deployed, template.Relayed, template.TTL, template.Wildcard)
}

// With more than one batch of a shard at once, only the writes to one item
// stay in order.
func TestRelayBreaks(t *testing.T) {
	stack := newStack()
	newRelay(t, stack, nil)
	deployed := synth(t, stack)
	for name, apply := range map[string]func(template.Template){
		"two batches at once": func(b template.Template) { only(t, b, mappingType).Properties()["ParallelizationFactor"] = 2.0 },
		"keys only in the stream": func(b template.Template) {
			b.Resources()["Outbox"].Properties()["StreamSpecification"] = map[string]any{"StreamViewType": "KEYS_ONLY"}
		},
		"inserts alone": func(b template.Template) {
			only(t, b, mappingType).Properties()["FilterCriteria"] = map[string]any{"Filters": []any{map[string]any{"Pattern": `{"eventName":["INSERT"]}`}}}
		},
		"other keys": func(b template.Template) { delete(b.Resources()["Outbox"].Properties(), "KeySchema") },
		"no mark":    func(b template.Template) { delete(only(t, b, "AWS::IAM::Policy").Properties(), "PolicyDocument") },
	} {
		broken := deployed.Clone()
		apply(broken)
		if len(broken.Problems(template.Relayed, template.Actions{})) == 0 {
			t.Errorf("a template with %s keeps the rule", name)
		}
	}
}

func TestRelayRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(*RelayProps){
		"Code: it is required":              func(p *RelayProps) { p.Code = "" },
		"Outbox: it is required":            func(p *RelayProps) { p.Outbox = nil },
		"BatchSize: 1001 is not":            func(p *RelayProps) { p.BatchSize = 1001 },
		"BatchingWindow: 6m0s is not":       func(p *RelayProps) { p.BatchingWindow = 6 * time.Minute },
		"FailureRetention: 360h0m0s is not": func(p *RelayProps) { p.FailureRetention = 15 * day },
		"MaxAge: 30s is not":                func(p *RelayProps) { p.MaxAge = 30 * time.Second },
		"MaxAge: 24h0m0s is not less than":  func(p *RelayProps) { p.MaxAge = day },
		"Retries: -1 is not":                func(p *RelayProps) { p.Retries = -1 },
		"OUTBOX_TABLE is set by this":       func(p *RelayProps) { p.Environment = map[string]string{"OUTBOX_TABLE": "x"} },
		"Timeout: 16m0s is not":             func(p *RelayProps) { p.Timeout = 16 * time.Minute },
		"LogLevel: \"info\" is none":        func(p *RelayProps) { p.LogLevel = "info" },
		"MemorySize: 64 is not":             func(p *RelayProps) { p.MemorySize = 64 },
	}, func(change func(*RelayProps)) { newRelay(t, newStack(), change) })
}
