package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/moto"
	"github.com/lambda-once/once/internal/wire"
)

// A deployment is an account of AWS, served by moto, with a function that is right: its table,
// its role, and a queue with dead letters.
type deployment struct {
	*scene
	lambda   *lambda.Client
	sqs      *sqs.Client
	dynamodb *dynamodb.Client
	role     *string      // ARN
	queue    string       // ARN
	mapping  *string      // id
	denied   atomic.Value // action that IAM denies the role
	level    atomic.Value // of the function's log
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	a := &deployment{scene: newScene(t)}
	t.Setenv("AWS_ENDPOINT_URL", a.simulated(moto.Start(t)))
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	t.Setenv("AWS_REGION", "eu-central-1")
	cfg, err := (&store.DynamoDBFlags{}).Load(t.Context(), &store.Waits{Timeout: time.Minute, To: io.Discard})
	check.Must(t, err)
	a.lambda, a.sqs, a.dynamodb = lambda.NewFromConfig(cfg), sqs.NewFromConfig(cfg), dynamodb.NewFromConfig(cfg)
	a.createTable("records")
	role, err := iam.NewFromConfig(cfg).CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("pay"), AssumeRolePolicyDocument: aws.String("{}")})
	check.Must(t, err)
	a.role = role.Role.Arn
	a.createFunction("pay")
	dead := a.createQueue("dead", map[string]string{"MessageRetentionPeriod": "1209600"})
	a.queue = a.createQueue("orders", map[string]string{
		"VisibilityTimeout": "60", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":5}`, dead),
	})
	mapping, err := a.lambda.CreateEventSourceMapping(t.Context(), &lambda.CreateEventSourceMappingInput{
		FunctionName: aws.String("pay"), EventSourceArn: &a.queue, FunctionResponseTypes: reported,
	})
	check.Must(t, err)
	a.mapping = mapping.UUID
	return a
}

var reported = []types.FunctionResponseType{types.FunctionResponseTypeReportBatchItemFailures}

// simulated returns the URL of a proxy that has what moto has not: the simulation of policies
// and the level of a log.
func (a *deployment) simulated(endpoint string) string {
	a.Helper()
	proxy, err := wire.HTTP(endpoint, func(r *wire.Request) (*wire.Response, error) {
		form, _ := url.ParseQuery(string(r.Body)) // no form in other protocols
		if form.Get("Action") != "SimulatePrincipalPolicy" {
			answer, err := r.Send()
			if err == nil && a.level.Load() != nil && strings.HasSuffix(r.Operation, "/functions/pay/configuration") {
				answer.Body = bytes.Replace(answer.Body, []byte("{"), []byte(`{"LoggingConfig":{"ApplicationLogLevel":"`+a.level.Load().(string)+`"},`), 1)
				answer.Header.Del("Content-Length")
			}
			return answer, err
		}
		return &wire.Response{Status: http.StatusOK, Body: a.simulation(form)}, nil
	})
	check.Must(a.T, err)
	a.Cleanup(func() { check.Must(a.T, proxy.Close()) })
	return proxy.URL()
}

// simulation allows the role each action but the denied one, on this table with this operation,
// and on a key through DynamoDB.
func (a *deployment) simulation(form url.Values) []byte {
	resource, condition := form.Get("ResourceArns.member.1"), form.Get("ContextEntries.member.1.ContextKeyValues.member.1")
	asked := form.Get("PolicySourceArn") == *a.role && (strings.HasSuffix(resource, ":table/records") && strings.HasPrefix(condition, "pay#") ||
		strings.Contains(resource, ":key/") && condition == "dynamodb.eu-central-1.amazonaws.com")
	var results strings.Builder
	for i := 1; form.Has(fmt.Sprintf("ActionNames.member.%d", i)); i++ {
		action, decision := form.Get(fmt.Sprintf("ActionNames.member.%d", i)), "allowed"
		if !asked || a.denied.Load() == any(action) {
			decision = "implicitDeny"
		}
		fmt.Fprintf(&results, "<member><EvalActionName>%s</EvalActionName><EvalDecision>%s</EvalDecision></member>", action, decision)
	}
	return []byte("<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult><EvaluationResults>" + results.String() +
		"</EvaluationResults></SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>")
}

func (a *deployment) createTable(name string) *ddb.TableDescription {
	a.Helper()
	made, err := a.dynamodb.CreateTable(a.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: ddb.BillingModePayPerRequest, DeletionProtectionEnabled: aws.Bool(true),
		SSESpecification:     &ddb.SSESpecification{Enabled: aws.Bool(true), SSEType: ddb.SSETypeKms},
		AttributeDefinitions: []ddb.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: ddb.ScalarAttributeTypeS}},
		KeySchema:            []ddb.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: ddb.KeyTypeHash}},
		StreamSpecification:  &ddb.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: ddb.StreamViewTypeNewImage},
	})
	check.Must(a.T, err)
	_, err = a.dynamodb.UpdateTimeToLive(a.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &name, TimeToLiveSpecification: &ddb.TimeToLiveSpecification{AttributeName: aws.String("expiration"), Enabled: aws.Bool(true)},
	})
	check.Must(a.T, err)
	_, err = a.dynamodb.UpdateContinuousBackups(a.Context(), &dynamodb.UpdateContinuousBackupsInput{
		TableName: &name, PointInTimeRecoverySpecification: &ddb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	})
	check.Must(a.T, err)
	return made.TableDescription
}

func (a *deployment) createFunction(name string) {
	a.Helper()
	_, err := a.lambda.CreateFunction(a.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Role: a.role, Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), Timeout: aws.Int32(10),
		Code:        &types.FunctionCode{ZipFile: []byte("PK\x05\x06" + strings.Repeat("\x00", 18))}, // an empty archive
		Environment: &types.Environment{Variables: map[string]string{"IDEMPOTENCY_TABLE": "records", "ONCE_METRICS": "emf"}},
	})
	check.Must(a.T, err)
}

// setVariable changes a variable of the function.
func (a *deployment) setVariable(name, value string) {
	a.Helper()
	variables := map[string]string{"IDEMPOTENCY_TABLE": "records", "ONCE_METRICS": "emf"}
	variables[name] = value
	_, err := a.lambda.UpdateFunctionConfiguration(a.Context(), &lambda.UpdateFunctionConfigurationInput{
		FunctionName: aws.String("pay"), Environment: &types.Environment{Variables: variables},
	})
	check.Must(a.T, err)
}

// addStream adds the stream of a table as a source, changed.
func (a *deployment) addStream(change func(*lambda.CreateEventSourceMappingInput)) {
	a.Helper()
	in := &lambda.CreateEventSourceMappingInput{
		FunctionName: aws.String("pay"), EventSourceArn: a.createTable("events").LatestStreamArn,
		FunctionResponseTypes: reported, BisectBatchOnFunctionError: aws.Bool(true), MaximumRetryAttempts: aws.Int32(3),
		DestinationConfig: &types.DestinationConfig{OnFailure: &types.OnFailure{Destination: aws.String("arn:aws:sqs:eu-central-1:123456789012:dead")}},
	}
	change(in)
	_, err := a.lambda.CreateEventSourceMapping(a.Context(), in)
	check.Must(a.T, err)
}

// createQueue returns the ARN of a queue.
func (a *deployment) createQueue(name string, attributes map[string]string) string {
	a.Helper()
	queue, err := a.sqs.CreateQueue(a.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	check.Must(a.T, err)
	out, err := a.sqs.GetQueueAttributes(a.Context(), &sqs.GetQueueAttributesInput{QueueUrl: queue.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"QueueArn"}})
	check.Must(a.T, err)
	return out.Attributes["QueueArn"]
}

func (a *deployment) IsSet(queue, attribute, value string) {
	a.Helper()
	of, err := a.sqs.GetQueueUrl(a.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	check.Must(a.T, err)
	_, err = a.sqs.SetQueueAttributes(a.Context(), &sqs.SetQueueAttributesInput{QueueUrl: of.QueueUrl, Attributes: map[string]string{attribute: value}})
	check.Must(a.T, err)
}
