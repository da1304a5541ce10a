package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// A resumer has the rights of the function whose work it finishes. A scan reads the index alone,
// whose entries are keys: the table has what callers have sent.
func TestResumerScansTheIndexAlone(t *testing.T) {
	stack := newStack()
	table := NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{Resume: true})
	NewResume(stack, "Resume", &ResumeProps{Code: zip(t), Execute: &ExecuteOptions{Operations: []string{"pay"}}, Operations: []string{"pay"}, Table: table})
	deployed := synth(t, stack)
	index := only(t, deployed, "AWS::DynamoDB::GlobalTable").Properties()["GlobalSecondaryIndexes"].([]any)
	check.Equal(t, index, []any{map[string]any{
		"IndexName": "lapsed", "KeySchema": []any{map[string]any{"AttributeName": "in_progress_expiration", "KeyType": "HASH"}}, "Projection": map[string]any{"ProjectionType": "KEYS_ONLY"},
	}})
	all := inPolicy(only(t, deployed, "AWS::IAM::Policy"))
	check.Equal(t, len(all), 2)
	check.Equal(t, all[0]["Action"], any([]any{"dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}))
	check.Contains(t, all[0]["Condition"], "pay#*")
	check.Equal(t, all[1]["Action"], any("dynamodb:Scan"))
	check.Equal(t, all[1]["Resource"], any(map[string]any{"Fn::Join": []any{"", []any{map[string]any{"Fn::GetAtt": []any{"Table", "Arn"}}, "/index/lapsed"}}}))
}

// One round runs at a time, and the next one does what a failed one has not done.
func TestResumerIsScheduled(t *testing.T) {
	for interval, want := range map[time.Duration]struct {
		rate           string
		age, timeout   float64
		late           float64
		wantConcurrent any
	}{
		0:         {"rate(5 minutes)", 300, 300, 1800, 1.0},
		time.Hour: {"rate(1 hour)", 3600, 900, 8400, nil},
	} {
		stack := newStack()
		topic := awssns.NewTopic(stack, jsii.String("Topic"), nil)
		props := &ResumeProps{
			Code: zip(t), Environment: map[string]string{"MODE": "b"}, Interval: interval, Notify: []awssns.ITopic{topic}, Operations: []string{"pay", "refund"},
			Table: NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{Resume: true}),
		}
		if want.wantConcurrent == nil {
			props.Configure = func(p *awslambda.FunctionProps) { p.ReservedConcurrentExecutions = nil }
		}
		made := NewResume(stack, "Resume", props)
		deployed := synth(t, stack)
		check.Equal(t, only(t, deployed, "AWS::Events::Rule").Properties()["ScheduleExpression"], any(want.rate))
		events := only(t, deployed, "AWS::Lambda::EventInvokeConfig").Properties()
		check.Equal(t, events["MaximumEventAgeInSeconds"], any(want.age))
		check.Equal(t, events["MaximumRetryAttempts"], any(0.0))
		function := only(t, deployed, "AWS::Lambda::Function").Properties()
		check.Equal(t, function["Timeout"], any(want.timeout))
		check.Equal(t, function["ReservedConcurrentExecutions"], want.wantConcurrent)
		for _, variable := range []string{"MODE:b", "IDEMPOTENCY_TABLE:map[Ref:Table]", "ONCE_METRICS:emf"} {
			check.Contains(t, function["Environment"], variable)
		}
		check.Equal(t, len(made.Alarms), 2)
		emits(t, deployed)
		for id, alarm := range deployed.Resources(alarmType) {
			p := alarm.Properties()
			check.Equal(t, p["MetricName"], any("OldestAbandoned"), id)
			check.Equal(t, p["Statistic"], any("Maximum"), id)
			check.Equal(t, p["TreatMissingData"], any("breaching"), id)
			check.Equal(t, p["Threshold"], any(want.late), id)
			check.Equal(t, p["Period"], any(want.late), id)
			check.Equal(t, p["AlarmActions"], any([]any{ref("Topic")}), id)
		}
		check.Equal(t, len(deployed.IDs(alarmType)), 2)
	}
	check.Equal(t, catalog.Resume["Abandoned"].Threshold, 1800.0, "that of the other deployments, for 5 min")
}

func TestResumeRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(site, *ResumeProps){
		"": func(_ site, p *ResumeProps) { p.Interval = time.Minute },
		"Table: it has no index of leases": func(s site, p *ResumeProps) {
			p.Table = NewIdempotencyTable(s.stack, "Plain", nil)
		},
		"Table: it is required":         func(_ site, p *ResumeProps) { p.Table = nil },
		"Interval: 30s is not whole":    func(_ site, p *ResumeProps) { p.Interval = 30 * time.Second },
		"Interval: 1h1m0s is not whole": func(_ site, p *ResumeProps) { p.Interval = time.Hour + time.Minute },
		"Operations: state the names":   func(_ site, p *ResumeProps) { p.Operations = nil },
		"Notify: one is nil":            func(_ site, p *ResumeProps) { p.Notify = []awssns.ITopic{nil} },
	}, func(change func(site, *ResumeProps)) {
		s := newSite(t)
		p := &ResumeProps{Code: zip(t), Operations: []string{"pay"}, Table: NewIdempotencyTable(s.stack, "Table", &IdempotencyTableProps{Resume: true})}
		change(s, p)
		NewResume(s.stack, "Resume", p)
	})
}

// A table of yours states its index, and Configure keeps that of the construct.
func TestIndexOfATableIsKnown(t *testing.T) {
	wantRefusal(t, "Table: it has no index", func() {
		stack := newStack()
		NewIdempotencyTable(stack, "Table", nil).GrantResume(newRole(stack), nil)
	})
	own := &awsdynamodb.GlobalSecondaryIndexPropsV2{IndexName: jsii.String("own"), PartitionKey: stringKey("status")}
	stack := newStack()
	NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{Resume: true, Configure: func(p *awsdynamodb.TablePropsV2) {
		*p.GlobalSecondaryIndexes = append(*p.GlobalSecondaryIndexes, own)
	}})
	check.Equal(t, len(only(t, synth(t, stack), "AWS::DynamoDB::GlobalTable").Properties()["GlobalSecondaryIndexes"].([]any)), 2)
	wantRefusal(t, "Configure: it replaces the index of Resume", func() {
		NewIdempotencyTable(newStack(), "Table", &IdempotencyTableProps{Resume: true, Configure: func(p *awsdynamodb.TablePropsV2) {
			p.GlobalSecondaryIndexes = &[]*awsdynamodb.GlobalSecondaryIndexPropsV2{own}
		}})
	})
}
