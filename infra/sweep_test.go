package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

// An event that waits for longer than Lambda allows is behind the next one. The alarm rings when
// a run and its retries fail.
func TestSweepOfATableIsScheduledAndMayWriteItsPositionAlone(t *testing.T) {
	stack := newStack()
	topic := awssns.NewTopic(stack, jsii.String("Topic"), nil)
	NewSweep(stack, "Sweep", &SweepProps{
		Code: zip(t), Interval: day, Notify: []awssns.ITopic{topic}, Table: NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{SweptElsewhere: true}),
	})
	deployed := synth(t, stack)
	check.Equal(t, only(t, deployed, "AWS::Events::Rule").Properties()["ScheduleExpression"], "rate(1 day)")
	check.Equal(t, only(t, deployed, invocationsType).Properties()["MaximumEventAgeInSeconds"], 21600.0)
	function := only(t, deployed, "AWS::Lambda::Function").Properties()
	check.Equal(t, function["Timeout"], 900.0)
	check.Contains(t, function["Environment"], "IDEMPOTENCY_TABLE:map[Ref:Table]")
	all := inPolicy(only(t, deployed, "AWS::IAM::Policy"))
	check.Equal(t, len(all), 2)
	check.Equal(t, all[0]["Action"], any([]any{"dynamodb:DeleteItem", "dynamodb:Scan"}))
	check.Equal(t, all[1]["Action"], any([]any{"dynamodb:GetItem", "dynamodb:PutItem"}))
	check.Equal(t, all[1]["Condition"], any(map[string]any{
		"ForAllValues:StringEquals": map[string]any{"dynamodb:LeadingKeys": []any{"once sweep"}},
		"Null":                      map[string]any{"dynamodb:LeadingKeys": "false"},
	}))
	alarm := only(t, deployed, alarmType).Properties()
	check.Equal(t, alarm["MetricName"], "AsyncEventsDropped")
	check.Equal(t, alarm["Threshold"], 1.0)
	check.Equal(t, alarm["AlarmActions"], any([]any{ref("Topic")}))
}

// A scheduled function connects to its server as others do.
func TestProgramsOfPostgresRunInTheVPC(t *testing.T) {
	for rate, construct := range map[string]func(site, *PostgresStore){
		"rate(1 hour)": func(s site, store *PostgresStore) {
			NewSweep(s.stack, "Sweep", &SweepProps{Code: zip(t), Configure: s.inVPC, Postgres: store})
		},
		"rate(5 minutes)": func(s site, store *PostgresStore) {
			NewResume(s.stack, "Resume", &ResumeProps{Code: zip(t), Configure: s.inVPC, Operations: []string{"pay"}, Postgres: store})
		},
	} {
		s := newSite(t)
		construct(s, NewPostgresStore(s.stack, "Store", s.postgres()))
		deployed := synth(t, s.stack)
		check.Equal(t, only(t, deployed, "AWS::Events::Rule").Properties()["ScheduleExpression"], any(rate))
		function := only(t, deployed, "AWS::Lambda::Function").Properties()
		check.Contains(t, function["VpcConfig"], "subnet-11111111", rate)
		check.Contains(t, function["Environment"], "PGHOST:db.example.com", rate)
		check.Contains(t, only(t, deployed, "AWS::IAM::Policy"), "secretsmanager:GetSecretValue", rate)
		check.Equal(t, only(t, deployed, "AWS::EC2::SecurityGroupIngress").Properties()["GroupId"], "sg-11111111", rate)
	}
}

func TestSweepRefuses(t *testing.T) {
	wantRefusals(t, map[string]func(site, *SweepProps){
		"": func(_ site, p *SweepProps) { p.Interval = time.Minute },
		"Table, Postgres: state one of them": func(s site, p *SweepProps) {
			p.Postgres = NewPostgresStore(s.stack, "Store", s.postgres())
		},
		"state one of them":              func(_ site, p *SweepProps) { p.Table = nil },
		"Code: it is required":           func(_ site, p *SweepProps) { p.Code = "" },
		"Interval: 0s is not whole":      func(_ site, p *SweepProps) { p.Interval = 0 },
		"Interval: 30s is not whole":     func(_ site, p *SweepProps) { p.Interval = 30 * time.Second },
		"Interval: 48h0m0s is not whole": func(_ site, p *SweepProps) { p.Interval = 2 * day },
		"Notify: one is nil":             func(_ site, p *SweepProps) { p.Notify = []awssns.ITopic{nil} },
	}, func(change func(site, *SweepProps)) {
		s := newSite(t)
		p := &SweepProps{Code: zip(t), Interval: day, Table: NewIdempotencyTable(s.stack, "Table", nil)}
		change(s, p)
		NewSweep(s.stack, "Sweep", p)
	})
}
