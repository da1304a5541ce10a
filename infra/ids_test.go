package infra

import (
	"fmt"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// A scope that is nil, an id that is a token, and the second construct with an id would panic in
// the words of jsii or CDK.
func TestScopesAndIDsThatCannotBeAreRefused(t *testing.T) {
	outbox := NewOutbox(newStack(), "Outbox", nil)
	code := zip(t)
	for name, construct := range map[string]func(scope constructs.Construct, id string){
		"table":  func(scope constructs.Construct, id string) { NewIdempotencyTable(scope, id, nil) },
		"outbox": func(scope constructs.Construct, id string) { NewOutbox(scope, id, nil) },
		"relay": func(scope constructs.Construct, id string) {
			NewRelay(scope, id, &RelayProps{Code: code, Outbox: outbox})
		},
		"alarms": func(scope constructs.Construct, id string) {
			NewAlarms(scope, id, &AlarmsProps{Operations: []string{"pay"}})
		},
		"topic": func(scope constructs.Construct, id string) { NewAlarmTopic(scope, id, nil) },
		"dashboard": func(scope constructs.Construct, id string) {
			NewDashboard(scope, id, &DashboardProps{Operations: []string{"pay"}})
		},
		"postgres": func(scope constructs.Construct, id string) {
			NewPostgresStore(scope, id, &PostgresStoreProps{Database: "postgres", DSQL: dsqlARN, User: "app"})
		},
		"redis": func(scope constructs.Construct, id string) {
			NewRedisStore(scope, id, &RedisStoreProps{Host: "a", MemoryDB: "a", Server: newSite(t).group, User: "app"})
		},
		"sweep": func(scope constructs.Construct, id string) {
			NewSweep(scope, id, &SweepProps{Code: code, Interval: day, Table: NewIdempotencyTable(newStack(), "Table", nil)})
		},
		"resume": func(scope constructs.Construct, id string) {
			NewResume(scope, id, &ResumeProps{Code: code, Operations: []string{"pay"}, Table: NewIdempotencyTable(newStack(), "Table", &IdempotencyTableProps{Resume: true})})
		},
		"protect": func(scope constructs.Construct, id string) {
			stack := newStack()
			Protect(scope, id, ownFunction(t, stack), &ProtectProps{Table: NewIdempotencyTable(stack, "Table", nil)})
		},
		"function": func(scope constructs.Construct, id string) {
			NewIdempotentFunction(scope, id, &IdempotentFunctionProps{Code: code, Table: NewIdempotencyTable(newStack(), "Table", nil)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			wantRefusal(t, "scope: it is nil", func() { construct(nil, "A") })
			wantRefusal(t, "id: it is a token", func() { construct(stack, *awscdk.Aws_STACK_NAME()) })
			wantRefusal(t, "id: it is empty", func() { construct(stack, "") })
			wantRefusal(t, "", func() { construct(stack, "A") })
			wantRefusal(t, `id: "A" is already in use in S`, func() { construct(stack, "A") })
		})
	}
}

// Sources are constructs within a function.
func TestIDsOfSourcesThatAreTakenAreRefused(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	n := 0 // of streams and topics of Kafka, each of which feeds a function once
	for name, construct := range map[string]func(id string){
		"API":   func(id string) { f.AddHTTPAPI(id, &HTTPAPIProps{Public: true, Routes: []string{"POST /"}}) },
		"queue": func(id string) { f.AddQueue(id, nil) },
		"stream": func(id string) {
			n++
			f.AddStream(id, awskinesis.Stream_FromStreamArn(newStack(), jsii.String("Stream"), jsii.String(fmt.Sprint(streamARN, n))), nil)
		},
		"Kafka": func(id string) {
			n++
			f.AddKafka(id, msk(func(p *KafkaProps) { p.Topic = fmt.Sprint("orders", n) }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, "id: it is empty", func() { construct("") })
			wantRefusal(t, "id: it is a token", func() { construct(*stack.Region() + *awscdk.Aws_REGION()) })
			wantRefusal(t, "", func() { construct(name) })
			wantRefusal(t, "is already in use in S", func() { construct(name) })
		})
	}
	wantRefusal(t, `id: "Logs" is already in use in S/Function`, func() { f.AddQueue("Logs", nil) })
	f.AddStream("Async", newStream(f), nil)
	wantRefusal(t, `"AsyncFailures" is already in use`, func() { f.FailureQueue() })
	f.AddStream("Orders", awskinesis.NewStream(stack, jsii.String("Orders"), nil), nil)
	wantRefusal(t, `"OrdersFailures" is already in use`, func() { f.AddKafka("Orders", msk(nil)) })
}

// A literal has none of the constructs of the value that its constructor returns.
func TestLiteralsAreRefused(t *testing.T) {
	code := zip(t)
	function := func(p IdempotentFunctionProps) func(awscdk.Stack) {
		return func(stack awscdk.Stack) {
			p.Code = code
			NewIdempotentFunction(stack, "Function", &p)
		}
	}
	wantRefusals(t, map[string]func(awscdk.Stack){
		"Table: it is a literal; make it":         function(IdempotentFunctionProps{Table: &IdempotencyTable{}}),
		"Postgres: it is a literal":               function(IdempotentFunctionProps{Postgres: &PostgresStore{}}),
		"Redis: it is a literal":                  function(IdempotentFunctionProps{Redis: &RedisStore{}}),
		"Dispatches: the function is not durable": function(IdempotentFunctionProps{Dispatches: &IdempotentFunction{}}),
		"Table: it is a literal; make it with NewIdempo": func(stack awscdk.Stack) {
			NewSweep(stack, "Sweep", &SweepProps{Code: code, Interval: day, Table: &IdempotencyTable{}})
		},
		"Table: it is a literal":            func(stack awscdk.Stack) { (&IdempotencyTable{}).GrantOperate(newRole(stack)) },
		"Outbox: it is required, made with": func(stack awscdk.Stack) { NewRelay(stack, "Relay", &RelayProps{Code: code, Outbox: &Outbox{}}) },
		"table: it is required":             func(stack awscdk.Stack) { (&Outbox{}).GrantPublish(newRole(stack)) },
	}, func(construct func(awscdk.Stack)) { construct(newStack()) })
}
