package infra

import (
	"debug/elf"
	"path/filepath"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticache"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsrds"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctionstasks"
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
		task := awsstepfunctions.DefinitionBody_FromChainable(f.NewTask(tr.stack, "Pay", try(tr, &TaskProps{Execution: time.Hour})))
		awsstepfunctions.NewStateMachine(tr.stack, jsii.String("Machine"), &awsstepfunctions.StateMachineProps{DefinitionBody: task})
		NewAlarms(tr.stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	},
	func(tr *trial) { // requests
		f, routes := newFunction(tr.t, tr.stack, nil), []string{"POST /"}
		shared := awsapigatewayv2.NewHttpApi(tr.stack, jsii.String("Shared"), &awsapigatewayv2.HttpApiProps{DefaultAuthorizer: newAuthorizer()})
		f.AddHTTPAPI("HTTP", try(tr, &HTTPAPIProps{Public: true, Routes: routes}))
		f.AddRoutes("Routes", shared, try(tr, &RoutesProps{Routes: routes}))
	},
	func(tr *trial) { // functions
		f := newFunction(tr.t, tr.stack, func(p *IdempotentFunctionProps) { longRecords(p); try(tr, p) })
		f.AddTopic(newTopic(f))
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
		redis := NewRedisStore(tr.stack, "Redis", try(tr, tr.redis(func(p *RedisStoreProps) { try(tr, p.Access) })))
		NewIdempotentFunction(tr.stack, "OnRedis", &IdempotentFunctionProps{Code: zip(tr.t), Redis: redis})
		postgres := NewPostgresStore(tr.stack, "Postgres", try(tr, tr.postgres()))
		NewIdempotentFunction(tr.stack, "OnPostgres", &IdempotentFunctionProps{Code: zip(tr.t), Postgres: postgres})
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
		NewSweep(tr.stack, "Sweep", try(tr, &SweepProps{Code: zip(tr.t), Interval: day, Table: f.props.Table}))
	},
}

func (s site) postgres() *PostgresStoreProps {
	access := &AccessOptions{SecurityGroup: s.group, User: "once", VPC: s.vpc}
	return &PostgresStoreProps{Access: access, CABundle: bundle, Database: "shop", Instance: s.instance(nil)}
}

// unseen are the fields that change no template.
var unseen = map[string]string{
	"is compared with other props": "ExecuteOptions.Transactions IdempotentFunctionProps.Retention ImportedTableProps.SortKey ImportedTableProps.Strong " +
		"KafkaProps.TopicRetention ProtectProps.Retention TaskProps.Execution",
	"declares a fact":                   "IdempotencyTableProps.Writers RedisStoreProps.MaxMemoryPolicy RedisStoreProps.Parameters StreamProps.Retention",
	"is required without an authorizer": "HTTPAPIProps.Public",
}

// instead are the fields of the deployments that exclude another.
var instead = map[string]string{
	"AccessOptions.Secret": "User", "HTTPAPIProps.Authorizer": "Public", "IdempotentFunctionProps.Dispatches": "Table",
	"IdempotentFunctionProps.Postgres": "Table", "IdempotentFunctionProps.Redis": "Table", "KafkaProps.BootstrapServers": "ClusterARN",
	"PostgresStoreProps.Cluster": "Instance", "PostgresStoreProps.DSQL": "Instance",
	"PostgresStoreProps.Proxy": "Instance", "ProtectProps.Postgres": "Table", "ProtectProps.Redis": "Table",
	"RedisStoreProps.MemoryDB": "ReplicationGroup", "SweepProps.Postgres": "Table",
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
		"BootstrapServers": []string{"b:9092"}, "CABundle": "/other.pem", "ClusterARN": clusterARN + "2", "DeadLetterRetention": 10 * day,
		"LogLevel": "DEBUG", "MaxMemoryPolicy": "noeviction", "MemorySize": 512, "Pass": "$.other", "Routes": []string{"PUT /other"},
		"TopicRetention": 20 * day, "Writers": WritersByHomeRegion,
		"DurableOptions.Retention": 2 * day, "IdempotentFunctionProps.Retention": 500 * day, "ProtectProps.Retention": 500 * day, "StreamProps.Retention": day,

		"*infra.AccessOptions": &AccessOptions{SecurityGroup: tr.group, User: "other", VPC: tr.vpc}, "*infra.DurableOptions": &DurableOptions{ExecutionTimeout: time.Hour},
		"*infra.ExecuteOptions": &ExecuteOptions{Group: true}, "*infra.LiveOptions": &LiveOptions{}, "[]*infra.IdempotentFunction": []*IdempotentFunction{}, "[]*infra.Relay": []*Relay{},
		"awslambda.Tracing": awslambda.Tracing_ACTIVE, "awslogs.RetentionDays": awslogs.RetentionDays_ONE_DAY,
		"*awsec2.SubnetSelection": &awsec2.SubnetSelection{AvailabilityZones: jsii.Strings("eu-west-1a"), SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS},

		"func(*awsapigatewayv2.HttpApiProps)":            func(p *awsapigatewayv2.HttpApiProps) { p.Description = jsii.String("other") },
		"func(*awsdynamodb.TablePropsV2)":                func(p *awsdynamodb.TablePropsV2) { p.TableClass = awsdynamodb.TableClass_STANDARD_INFREQUENT_ACCESS },
		"func(*awslambda.EventSourceMappingProps)":       func(p *awslambda.EventSourceMappingProps) { p.KafkaConsumerGroupId = jsii.String("other") },
		"func(*awslambda.FunctionProps)":                 func(p *awslambda.FunctionProps) { p.Description = jsii.String("other") },
		"func(*awssqs.QueueProps, *awssqs.QueueProps)":   func(p, _ *awssqs.QueueProps) { p.MaxMessageSizeBytes = jsii.Number(2048) },
		"func(*awsstepfunctionstasks.LambdaInvokeProps)": func(p *awsstepfunctionstasks.LambdaInvokeProps) { p.Comment = jsii.String("other") },

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
			p.Access, p.CABundle = &AccessOptions{User: "once"}, ""
			return dsqlARN
		},
		"Dispatches": func() any {
			tr.props.(*IdempotentFunctionProps).Retention = 0
			return newFunction(tr.t, aside, durable(time.Hour))
		},
		"*infra.IdempotencyTable": func() any { return NewIdempotencyTable(aside, "Table", nil) },
		"*infra.Outbox":           func() any { return NewOutbox(aside, "Outbox", nil) },
		"*infra.PostgresStore":    func() any { return NewPostgresStore(aside, "Store", tr.postgres()) },
		"*infra.RedisStore":       func() any { return NewRedisStore(aside, "Store", tr.redis(nil)) },
		"infra.AlarmActions":      AlarmActions{Notify: topics},
		"awsec2.IVpc":             func() any { return awsec2.NewVpc(aside, jsii.String("VPC"), nil) },
		"awsrds.IDatabaseCluster": func() any { return tr.cluster(nil) },
		"awsrds.IDatabaseProxy":   func() any { return tr.proxy() },
		"awsrds.IDatabaseInstance": func() any {
			return tr.instance(func(p *awsrds.DatabaseInstanceAttributes) { p.Port = jsii.Number(7) })
		},
		"[]awssns.ITopic": topics, "awskms.IKey": key, "awsapigatewayv2.IHttpRouteAuthorizer": awsapigatewayv2authorizers.NewHttpIamAuthorizer(),
		"awsec2.ISecurityGroup":     awsec2.SecurityGroup_FromSecurityGroupId(aside, jsii.String("Group"), jsii.String("sg-2"), nil),
		"awssecretsmanager.ISecret": awssecretsmanager.Secret_FromSecretNameV2(aside, jsii.String("Secret"), jsii.String("other")),
		"awselasticache.CfnParameterGroup": awselasticache.NewCfnParameterGroup(aside, jsii.String("P"), &awselasticache.CfnParameterGroupProps{
			CacheParameterGroupFamily: jsii.String("redis7"), Description: jsii.String("P"), Properties: map[string]string{"maxmemory-policy": "noeviction"},
		}),
	}
}
