package infra

import (
	"debug/elf"
	"path/filepath"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
	"github.com/lambda-once/once/infra/internal/fake"
)

// deployments have each struct of props in the state in which its fields matter.
var deployments = []func(*trial){
	func(tr *trial) { // sources
		f := newFunction(tr.t, tr.stack, longRecords)
		f.AddQueue("Queue", try(tr, &QueueProps{}))
		f.AddStream("Clicks", awskinesis.Stream_FromStreamArn(tr.stack, jsii.String("Stream"), jsii.String(streamARN)), try(tr, &StreamProps{}))
		f.AddKafka("Kafka", try(tr, msk(func(p *KafkaProps) { p.Configure = scram })))
		NewAlarms(tr.stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	},
	func(tr *trial) { // requests
		newFunction(tr.t, tr.stack, nil).AddHTTPAPI("HTTP", try(tr, &HTTPAPIProps{Public: true, Routes: []string{"POST /"}}))
	},
	func(tr *trial) { // functions
		f := newFunction(tr.t, tr.stack, func(p *IdempotentFunctionProps) {
			longRecords(p)
			p.Configure = tr.inVPC
			try(tr, p)
		})
		addTopic(f)
		imported := awslambda.Function_FromFunctionAttributes(tr.stack, jsii.String("Import"), &awslambda.FunctionAttributes{
			FunctionArn: jsii.String(functionARN), Role: newRole(tr.stack), SameEnvironment: jsii.Bool(true), SecurityGroup: tr.group,
		})
		own := NewIdempotencyTable(tr.stack, "Own", nil)
		p := Protect(tr.stack, "Protected", imported, try(tr, &ProtectProps{Operations: []string{"pay"}, Retention: 400 * day, Table: own, Timeout: time.Minute}))
		p.AddQueue("Queue", nil)
		p.AddStream("Stream", newStream(p), nil)
		NewAlarms(tr.stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f, p}})
	},
	func(tr *trial) { // options, and the stream of a table
		imported := awsdynamodb.TableV2_FromTableArn(tr.stack, jsii.String("Import"), jsii.String(tableARN))
		NewIdempotentFunction(tr.stack, "Durable", &IdempotentFunctionProps{
			Code: zip(tr.t), Durable: try(tr, &DurableOptions{ExecutionTimeout: time.Hour}), Table: ImportIdempotencyTable(imported, try(tr, &ImportedTableProps{})),
		})
		f := newFunction(tr.t, tr.stack, func(p *IdempotentFunctionProps) {
			p.Execute, p.Live, p.Retention = try(tr, &ExecuteOptions{}), try(tr, &LiveOptions{}), 400*day
		})
		f.AddTableStream("Changes", newTable(f, awsdynamodb.StreamViewType_NEW_IMAGE), try(tr, &StreamProps{}))
	},
	func(tr *trial) { // stores
		redis := NewRedisStore(tr.stack, "Redis", try(tr, tr.redis(nil)))
		NewIdempotentFunction(tr.stack, "OnRedis", &IdempotentFunctionProps{Code: zip(tr.t), Configure: tr.inVPC, Redis: redis})
		postgres := NewPostgresStore(tr.stack, "Postgres", try(tr, tr.tokens()))
		NewIdempotentFunction(tr.stack, "OnPostgres", &IdempotentFunctionProps{Code: zip(tr.t), Configure: tr.inVPC, Postgres: postgres})
		NewOutbox(tr.stack, "Outbox", try(tr, &OutboxProps{}))
		several := []Replica{{Region: "eu-west-2"}, {Region: "eu-west-3"}}
		NewIdempotencyTable(tr.stack, "Table", try(tr, &IdempotencyTableProps{Replicas: several, Writers: WritersInOneRegion}))
	},
	func(tr *trial) { // alarms, and programs
		f := newFunction(tr.t, tr.stack, longRecords)
		f.AddQueue("Queue", nil)
		f.AddStream("Stream", newStream(f), nil)
		awslambda.NewFunctionUrl(tr.stack, jsii.String("URL"), &awslambda.FunctionUrlProps{AuthType: awslambda.FunctionUrlAuthType_NONE, Function: f.Function})
		functions, operations, relays := []*IdempotentFunction{f}, []string{"pay"}, []*Relay{newRelay(tr.t, tr.stack, func(p *RelayProps) { try(tr, p) })}
		NewAlarms(tr.stack, "Alarms", try(tr, &AlarmsProps{Functions: functions, Operations: operations, Relays: relays}))
		NewDashboard(tr.stack, "Dashboard", try(tr, &DashboardProps{Functions: functions, Operations: operations, Relays: relays}))
		NewAlarmTopic(tr.stack, "OnCall", try(tr, &AlarmTopicProps{}))
		NewSweep(tr.stack, "Sweep", try(tr, &SweepProps{Code: zip(tr.t), Configure: tr.inVPC, Interval: day, Table: f.props.Table}))
	},
	func(tr *trial) { // a resumer
		table := NewIdempotencyTable(tr.stack, "Table", &IdempotencyTableProps{Resume: true})
		NewResume(tr.stack, "Resume", try(tr, &ResumeProps{Code: zip(tr.t), Configure: tr.inVPC, Operations: []string{"pay"}, Table: table}))
	},
}

// tokens returns the props of a store with IAM.
func (s site) tokens() *PostgresStoreProps {
	p := s.postgres()
	p.GrantConnect, p.Secret, p.User = p.Server.(awsrds.IDatabaseInstance).GrantConnect, nil, "once"
	return p
}

// unseen are the fields that change no template.
var unseen = map[string]string{
	"is compared with other props": "ExecuteOptions.Transactions IdempotentFunctionProps.Retention ImportedTableProps.Resume ImportedTableProps.SortKey " +
		"KafkaProps.TopicRetention ProtectProps.Retention",
	"declares a fact":                   "IdempotencyTableProps.Writers RedisStoreProps.MaxMemoryPolicy",
	"is required without an authorizer": "HTTPAPIProps.Public",
}

// instead are the fields of the deployments that exclude another.
var instead = map[string]string{
	"IdempotentFunctionProps.Dispatches": "Table",
	"IdempotentFunctionProps.Postgres":   "Table", "IdempotentFunctionProps.Redis": "Table", "KafkaProps.BootstrapServers": "ClusterARN",
	"PostgresStoreProps.DSQL": "Endpoint", "PostgresStoreProps.Secret": "User", "ProtectProps.Postgres": "Table", "ProtectProps.Redis": "Table",
	"RedisStoreProps.MemoryDB": "ReplicationGroup", "RedisStoreProps.Secret": "User", "ResumeProps.Postgres": "Table", "ResumeProps.Redis": "Table", "SweepProps.Postgres": "Table",
}

// others returns values that differ from those of the deployments: of one field, of each
// field of a name, of a type, of a kind.
func (tr *trial) others() map[string]any {
	table, _ := tr.props.(*IdempotencyTableProps)        // nil for other structs
	aside := stackOf(awscdk.Stage_Of(tr.stack), "Aside") // what is made there is no change of the template
	topics := []awssns.ITopic{awssns.Topic_FromTopicArn(aside, jsii.String("Topic"), jsii.String("arn:aws:sns:eu-west-1:111122223333:other"))}
	key := customerKey(aside)
	return map[string]any{
		"bool": true, "float64": 7, "int": 7, "map": map[string]string{"OTHER": "x"}, "slice": []string{"other"}, "string": "other", "time.Duration": 2 * time.Minute,
		"BootstrapServers": []string{"b:9092"}, "CABundle": "/other.pem", "ClusterARN": clusterARN + "2", "MaxMemoryPolicy": "noeviction", "Routes": []string{"PUT /other"},
		"Thresholds": map[string]float64{"takeovers": 7}, "TopicRetention": 20 * day, "Writers": WritersByHomeRegion,
		"DurableOptions.Retention": 2 * day, "IdempotentFunctionProps.Retention": 500 * day, "ProtectProps.Retention": 500 * day,

		"*infra.DurableOptions": &DurableOptions{ExecutionTimeout: time.Hour},
		"*infra.ExecuteOptions": &ExecuteOptions{Group: true}, "*infra.LiveOptions": &LiveOptions{}, "[]*infra.IdempotentFunction": []*IdempotentFunction{}, "[]*infra.Relay": []*Relay{},

		"func(*awsapigatewayv2.HttpApiProps)":      func(p *awsapigatewayv2.HttpApiProps) { p.Description = jsii.String("other") },
		"func(*awsdynamodb.TablePropsV2)":          func(p *awsdynamodb.TablePropsV2) { p.TableClass = awsdynamodb.TableClass_STANDARD_INFREQUENT_ACCESS },
		"func(*awslambda.EventSourceMappingProps)": func(p *awslambda.EventSourceMappingProps) { p.KafkaConsumerGroupId = jsii.String("other") },
		"func(*awslambda.FunctionProps)":           func(p *awslambda.FunctionProps) { p.Description = jsii.String("other") },
		"func(*awssqs.QueueProps, *awssqs.QueueProps, *awslambdaeventsources.SqsEventSourceProps)": func(p, _ *awssqs.QueueProps, _ *awslambdaeventsources.SqsEventSourceProps) {
			p.MaxMessageSizeBytes = jsii.Number(2048)
		},
		"func(awsiam.IGrantable, *string) awsiam.Grant": site{stack: aside, group: tr.group}.proxy().GrantConnect,

		"IdempotencyTableProps.Key":      func() any { table.Replicas, table.Writers = nil, WritersAnywhere; return key },
		"IdempotencyTableProps.Replicas": func() any { table.Writers = WritersAnywhere; return []Replica(nil) },
		"IdempotencyTableProps.Strong":   func() any { table.SweptElsewhere, table.Writers = true, WritersAnywhere; return true },
		"IdempotencyTableProps.Witness": func() any {
			table.Replicas, table.Strong, table.SweptElsewhere, table.Writers = table.Replicas[:1], true, true, WritersAnywhere
			return "eu-west-3"
		},
		"Code": func() any {
			file := filepath.Join(tr.t.TempDir(), "other.zip")
			check.Must(tr.t, fake.WriteZip(file, "bootstrap", 0o755, append(fake.Program(elf.EM_AARCH64), 0)))
			return file
		},
		"DSQL": func() any {
			p := tr.props.(*PostgresStoreProps)
			p.CABundle, p.GrantConnect, p.Server = "", nil, nil
			return dsqlARN
		},
		"Dispatches": func() any {
			tr.props.(*IdempotentFunctionProps).Retention = 0
			return newFunction(tr.t, aside, durable(time.Hour))
		},
		"*infra.IdempotencyTable": func() any { return NewIdempotencyTable(aside, "Table", &IdempotencyTableProps{Resume: true}) },
		"*infra.Outbox":           func() any { return NewOutbox(aside, "Outbox", nil) },
		"*infra.PostgresStore":    func() any { return NewPostgresStore(aside, "Store", tr.postgres()) },
		"*infra.RedisStore":       func() any { return NewRedisStore(aside, "Store", tr.redis(nil)) },
		"infra.AlarmActions":      AlarmActions{Notify: topics},
		"awsrds.Endpoint":         awsrds.NewEndpoint(jsii.String("other"), jsii.Number(7)),
		"[]awssns.ITopic":         topics, "awskms.IKey": key,
		"awsec2.IConnectable":       awsec2.SecurityGroup_FromSecurityGroupId(aside, jsii.String("Group"), jsii.String("sg-2"), nil),
		"awssecretsmanager.ISecret": awssecretsmanager.Secret_FromSecretNameV2(aside, jsii.String("Secret"), jsii.String("other")),
	}
}
