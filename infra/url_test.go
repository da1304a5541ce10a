package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func TestURL(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, durable(15*time.Minute))
	f.AddURL(&URLProps{
		Auth: awslambda.FunctionUrlAuthType_NONE,
		CORS: &awslambda.FunctionUrlCorsOptions{
			AllowedHeaders: jsii.Strings("Idempotency-Key"), AllowedOrigins: jsii.Strings("https://shop.example.com"), ExposedHeaders: jsii.Strings("*"),
		},
	})
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	deployed := synth(t, stack)
	url := only(t, deployed, "AWS::Lambda::Url").Properties()
	check.Equal(t, url["AuthType"], "NONE")
	check.Equal(t, url["InvokeMode"], "BUFFERED")
	check.Equal(t, url["Qualifier"], "live")
	check.Equal(t, len(deployed.IDs("AWS::Lambda::Permission")), 2)
	wantRefusal(t, `id: "URL" is already in use`, func() { f.AddURL(&URLProps{Auth: awslambda.FunctionUrlAuthType_AWS_IAM}) })
	alarm := deployed.Resources()["AlarmsFunctionServerErrors"].Properties()
	check.Equal(t, alarm["MetricName"], "Url5xxCount")
}

func TestURLRefuses(t *testing.T) {
	wantRefusals(t, map[string]URLProps{
		"":                         {Auth: awslambda.FunctionUrlAuthType_AWS_IAM},
		"state AWS_IAM or NONE":    {},
		"Auth: state AWS_IAM or N": {Auth: "JWT"},
		"CORS: add Idempotency-Key to the allowed headers": {
			Auth: awslambda.FunctionUrlAuthType_NONE, CORS: &awslambda.FunctionUrlCorsOptions{ExposedHeaders: jsii.Strings("*")},
		},
	}, func(props URLProps) { newFunction(t, newStack(), nil).AddURL(&props) })
	wantRefusal(t, "function: a version cannot have a URL", func() {
		stack := newStack()
		table := NewIdempotencyTable(stack, "Table", nil)
		f := Protect(stack, "F", ownFunction(t, stack).CurrentVersion(), &ProtectProps{Table: table, Timeout: time.Second})
		f.AddURL(&URLProps{Auth: awslambda.FunctionUrlAuthType_NONE})
	})
	wantRefusal(t, "15m0s for which a function URL waits", func() {
		newFunction(t, newStack(), durable(time.Hour)).AddURL(&URLProps{Auth: awslambda.FunctionUrlAuthType_NONE})
	})
}
