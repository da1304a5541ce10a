package infra

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"

	"github.com/lambda-once/once/infra/internal/check"
)

func TestRESTAPI(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Timeout = time.Minute })
	api := awsapigateway.NewRestApi(stack, jsii.String("API"), &awsapigateway.RestApiProps{
		DefaultMethodOptions: &awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_IAM},
		EndpointTypes:        regional(),
	})
	f.AddRESTRoutes(api.Root(), &RESTRoutesProps{IntegrationTimeout: time.Minute, Routes: []string{"POST /payments"}})
	f.AddRESTRoutes(api.Root(), &RESTRoutesProps{IntegrationTimeout: time.Minute, Public: true, Routes: []string{"ANY /{proxy+}"}})
	NewAlarms(stack, "Alarms", &AlarmsProps{Functions: []*IdempotentFunction{f}})
	deployed := synth(t, stack)
	methods := map[string]any{}
	for _, id := range deployed.IDs("AWS::ApiGateway::Method") {
		m := deployed.Resources()[id].Properties()
		methods[m["HttpMethod"].(string)] = m["AuthorizationType"]
		integration := m["Integration"].(map[string]any)
		check.Equal(t, integration["Type"], "AWS_PROXY")
		check.Equal(t, integration["TimeoutInMillis"], 60000.0)
	}
	check.Equal(t, methods, map[string]any{"POST": "AWS_IAM", "ANY": "NONE"})
	check.Equal(t, len(deployed.IDs("AWS::Lambda::Permission")), 2)
	alarm := deployed.Resources()["AlarmsFunctionServerErrors"].Properties()
	check.Equal(t, alarm["MetricName"], "5XXError")
	check.Equal(t, alarm["Dimensions"], []any{map[string]any{"Name": "ApiName", "Value": "API"}})
}

func TestRESTAPIRefuses(t *testing.T) {
	post := []string{"POST /"}
	iam := &awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_IAM}
	keyed := &awsapigateway.MethodOptions{ApiKeyRequired: jsii.Bool(true)}
	cases := map[string]RESTRoutesProps{
		"":                                         {Method: keyed, Routes: post},
		"Public: state one of Public":              {Routes: post},
		"a Method that identifies callers":         {Method: iam, Public: true, Routes: post},
		"Routes: at least one is required":         {Public: true},
		`REST APIs have no "$default"`:             {Public: true, Routes: []string{"$default"}},
		`REST APIs have no "GET /a~b"`:             {Public: true, Routes: []string{"GET /a~b"}},
		`REST APIs have no "GET /a+"`:              {Public: true, Routes: []string{"GET /a+"}},
		`"/x" is not a method and a path`:          {Public: true, Routes: []string{"/x"}},
		`"/v1/{name}" has {name} where an earlier`: {Public: true, Routes: []string{"GET /v1/{id}", "PUT /v1/{name}"}},
		`has {proxy+} where an earlier`:            {Public: true, Routes: []string{"GET /v1/{id}", "ANY /v1/{proxy+}"}},
		"a REST API returns an error after 9s":     {IntegrationTimeout: 9 * time.Second, Public: true, Routes: post},
		"an edge-optimized API waits for 29 s":     {IntegrationTimeout: 29*time.Second + time.Millisecond, Public: true, Routes: post},
	}
	wantRefusals(t, cases, func(props RESTRoutesProps) {
		stack := newStack()
		newFunction(t, stack, nil).AddRESTRoutes(awsapigateway.NewRestApi(stack, jsii.String("API"), nil).Root(), &props)
	})
	wantRefusal(t, "Method: AuthorizationTypeMismatch", func() {
		stack := newStack()
		authorizer := awsapigateway.NewTokenAuthorizer(stack, jsii.String("Authorizer"), &awsapigateway.TokenAuthorizerProps{Handler: ownFunction(t, stack)})
		newFunction(t, stack, nil).AddRESTRoutes(awsapigateway.NewRestApi(stack, jsii.String("API"), nil).Root(), &RESTRoutesProps{
			Method: &awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_IAM, Authorizer: authorizer}, Routes: post,
		})
	})
	wantRefusal(t, "at: it is required", func() { newFunction(t, newStack(), nil).AddRESTRoutes(nil, &RESTRoutesProps{Routes: post}) })
	wantRefusal(t, "after 29s, while the function may run for 30s", func() {
		stack := newStack()
		f := newFunction(t, stack, func(p *IdempotentFunctionProps) { p.Timeout = 30 * time.Second })
		f.AddRESTRoutes(awsapigateway.NewRestApi(stack, jsii.String("API"), nil).Root(), &RESTRoutesProps{Public: true, Routes: post})
	})
}

func TestIntegrationTimeoutOfARESTAPI(t *testing.T) {
	edge := &[]awsapigateway.EndpointType{awsapigateway.EndpointType_EDGE}
	for name, c := range map[string]struct {
		timeout time.Duration
		types   *[]awsapigateway.EndpointType
		words   string
	}{
		"edge":     {30 * time.Second, edge, "an edge-optimized API waits for 29 s at most"},
		"Regional": {5 * time.Minute, regional(), ""},
		"longest":  {5*time.Minute + 1, regional(), "IntegrationTimeout: 5m0.000000001s is not 50 ms to 5 min"},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack()
			api := awsapigateway.NewRestApi(stack, jsii.String("API"), &awsapigateway.RestApiProps{EndpointTypes: c.types})
			wantRefusal(t, c.words, func() {
				newFunction(t, stack, nil).AddRESTRoutes(api.Root(), &RESTRoutesProps{IntegrationTimeout: c.timeout, Public: true, Routes: []string{"POST /"}})
			})
		})
	}
}

func regional() *[]awsapigateway.EndpointType {
	return &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL}
}

func TestRESTRoutesBesideThoseOfTheAPI(t *testing.T) {
	stack := newStack()
	f := newFunction(t, stack, nil)
	imported := awsapigateway.RestApi_FromRestApiAttributes(stack, jsii.String("API"), &awsapigateway.RestApiAttributes{
		RestApiId: jsii.String("a1b2c3"), RestApiName: jsii.String("shop"), RootResourceId: jsii.String("root"),
	})
	below := imported.Root().AddResource(jsii.String("v1"), nil)
	add := func(at awsapigateway.IResource, route string) {
		f.AddRESTRoutes(at, &RESTRoutesProps{Public: true, Routes: []string{route}})
	}
	add(below, "POST /")
	add(below, "GET /payments/{id}")
	for at, route := range map[awsapigateway.IResource]string{imported.Root(): "POST /v1", below: "POST /"} {
		wantRefusal(t, "the API already has it", func() { add(at, route) })
	}
	for at, route := range map[awsapigateway.IResource]string{imported.Root(): "GET /v1/payments/{name}", below: "PUT /payments/{name}"} {
		wantRefusal(t, "has {name} where an earlier route has {id}", func() { add(at, route) })
	}
	check.Equal(t, synth(t, stack).IDs("AWS::ApiGateway::Method"), []string{"APIv1POST", "APIv1paymentsidGET"})
}

func TestBrowsersOfARESTAPI(t *testing.T) {
	for words, c := range map[string]struct {
		headers *[]*string
		route   string
	}{
		"":                               {jsii.Strings("idempotency-key"), "ANY /x"},
		"CORS: add Idempotency-Key":      {nil, "POST /x"}, // the default of CDK
		`"OPTIONS /x" is the preflight `: {jsii.Strings("*"), "OPTIONS /x"},
	} {
		wantRefusal(t, words, func() {
			stack := newStack()
			api := awsapigateway.NewRestApi(stack, jsii.String("API"), &awsapigateway.RestApiProps{
				DefaultCorsPreflightOptions: &awsapigateway.CorsOptions{AllowHeaders: c.headers, AllowOrigins: jsii.Strings("*")},
			})
			newFunction(t, stack, nil).AddRESTRoutes(api.Root(), &RESTRoutesProps{Public: true, Routes: []string{c.route}})
		})
	}
}
