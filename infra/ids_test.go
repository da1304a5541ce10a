package infra

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
)

// CDK panics at the second construct with an id, in words of its own.
func TestIDsThatAreTakenAreRefused(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	outbox := NewOutbox(stack, "Outbox", nil)
	streams := 0
	for name, construct := range map[string]func(id string){
		"table":     func(id string) { NewIdempotencyTable(stack, id, nil) },
		"outbox":    func(id string) { NewOutbox(stack, id, nil) },
		"alarms":    func(id string) { NewAlarms(stack, id, &AlarmsProps{Operations: []string{"pay"}}) },
		"dashboard": func(id string) { NewDashboard(stack, id, &DashboardProps{Operations: []string{"pay"}}) },
		"function":  func(id string) { NewIdempotentFunction(stack, id, &f.props) },
		"relay": func(id string) {
			NewRelay(stack, id, &RelayProps{Code: f.props.Code, Outbox: outbox})
		},
		"API":   func(id string) { f.AddHTTPAPI(id, &HTTPAPIProps{Public: true, Routes: []string{"POST /"}}) },
		"queue": func(id string) { f.AddQueue(id, nil) },
		"stream": func(id string) {
			streams++
			f.AddStream(id, awskinesis.NewStream(stack, jsii.String(fmt.Sprint("Stream", streams)), nil), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, "id: it is empty", func() { construct("") })
			wantRefusal(t, "", func() { construct(name) })
			wantRefusal(t, "is already in use in S", func() { construct(name) })
		})
	}
	wantRefusal(t, `id: "Logs" is already in use in S/Function`, func() { f.AddQueue("Logs", nil) })
	f.AddStream("Async", awskinesis.NewStream(stack, jsii.String("Stream"), nil), nil)
	wantRefusal(t, `"AsyncFailures" is already in use`, func() { f.AddTopic(awssns.NewTopic(stack, jsii.String("Topic"), nil)) })
}

// A source that is nil or repeated would panic in the words of jsii or CDK.
func TestSourcesThatCannotFeedAreRefused(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, longRecords)
	topic, stream := awssns.NewTopic(stack, jsii.String("Topic"), nil), awskinesis.NewStream(stack, jsii.String("Stream"), nil)
	wantRefusal(t, "", func() { f.AddTopic(topic) })
	wantRefusal(t, "topic: S/Topic already feeds this function", func() { f.AddTopic(topic) })
	wantRefusal(t, "", func() { f.AddStream("First", stream, nil) })
	wantRefusal(t, "stream: S/Stream already feeds this function", func() { f.AddStream("Second", stream, nil) })
	wantRefusal(t, "topic: it is required", func() { f.AddTopic(nil) })
	wantRefusal(t, "rule: it is required", func() { f.AddRule(nil) })
	wantRefusal(t, "bucket: it is required", func() { f.AddBucket(nil) })
	wantRefusal(t, "stream: it is required", func() { f.AddStream("None", nil, nil) })
	wantRefusal(t, "table: it is required", func() { f.AddTableStream("None", nil, nil) })
}

func TestTablesThatCannotBeAreRefused(t *testing.T) {
	for _, name := range []string{"ab", "a b", "ä-table", strings.Repeat("a", 256)} {
		wantRefusal(t, "TableName: ", func() { NewIdempotencyTable(newStack(), "Table", &IdempotencyTableProps{TableName: name}) })
		wantRefusal(t, "TableName: ", func() { NewOutbox(newStack(), "Outbox", &OutboxProps{TableName: name}) })
	}
	for _, props := range []IdempotencyTableProps{{SortKey: "id"}, {ID: "expiration"}, {SortKey: "expiration"}, {ID: "a", Expiration: "a"}} {
		wantRefusal(t, "are not three different attributes", func() { NewIdempotencyTable(newStack(), "Table", &props) })
	}
	stack := newStack()
	later := awscdk.NewCfnParameter(stack, jsii.String("Name"), nil).ValueAsString()
	wantRefusal(t, "", func() {
		NewIdempotencyTable(stack, "Table", &IdempotencyTableProps{ID: "pk", SortKey: "sk", TableName: *later})
	})
}

func TestWhatIsMissingIsRefused(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	table := f.props.Table
	wantRefusal(t, "grantee: it is required", func() { table.GrantExecute(nil, nil) })
	wantRefusal(t, "grantee: it is required", func() { table.GrantOperate(nil) })
	wantRefusal(t, "grantee, table: both are required", func() { GrantTransact(f.Function, nil, TransactPut) })
	wantRefusal(t, "grantee, table: both are required", func() { GrantTransact(nil, table.Table, TransactPut) })
	wantRefusal(t, "Notify: one is nil", func() { NewAlarms(stack, "A", &AlarmsProps{Notify: []awssns.ITopic{nil}, Operations: []string{"pay"}}) })
}

// Alarms take their ids from operations and functions, which CDK may not tell
// apart, and CloudWatch has its own limit.
func TestOperationsThatCannotBeWatchedAreRefused(t *testing.T) {
	wantRefusal(t, "is already in use in S/A", func() { NewAlarms(newStack(), "A", &AlarmsProps{Operations: []string{"a/b", "a--b"}}) })
	wantRefusal(t, "longer than the 255", func() { NewAlarms(newStack(), "A", &AlarmsProps{Operations: []string{strings.Repeat("a", 256)}}) })
}
