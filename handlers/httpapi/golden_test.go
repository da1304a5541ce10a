package httpapi_test

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/handlers/internal/handlertest"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// goldenEvents are events as AWS documents them, each with the scope that it
// is there for.
var goldenEvents = []struct {
	name    string
	handler func(x *idempotent.Executor) lambda.Handler
}{
	{"apigateway-v2-jwt", onV2(httpapi.JWTClaim("sub"))},
	{"apigateway-v2-lambda-authorizer", onV2(httpapi.AuthorizerField("tenantId"))},
	{"apigateway-v2-iam", onV2(httpapi.IAMUser())},
	{"apigateway-rest-cognito", onREST(httpapi.JWTClaim("sub"))},
	{"apigateway-rest-lambda-authorizer", onREST(httpapi.AuthorizerField("tenantId"))},
	{"apigateway-rest-iam", onREST(httpapi.IAMUser())},
	{"alb-headers", onALB(httpapi.NoIdentity())},
	{"alb-multivalue", onALB(httpapi.NoIdentity())},
	{"function-url-iam", onURL(httpapi.IAMUser())},
	{"function-url-none", onURL(httpapi.NoIdentity())},
}

var updateHTTPGolden = flag.Bool("update-http", false, "rewrite "+answers)

const answers = "testdata/answers.golden"

// The first answer to each event, a repetition's, one to another body and one
// to an event without a key are, to the byte, those in testdata. So is the
// identity of the request: were it to change, an update of a function would
// run again, or refuse, what ran before. With -update-http the file
// is written.
func TestHTTPGolden(t *testing.T) {
	for _, g := range goldenEvents {
		t.Run(g.name, func(t *testing.T) {
			event := handlertest.Golden(t, g.name+".json")
			other := bytes.Replace(event, []byte("1299"), []byte("1300"), 1)
			if bytes.Equal(other, event) { // it is base64
				other = bytes.Replace(event, []byte("eyJhbW91bnQiOjEyOTks"), []byte("eyJhbW91bnQiOjEzMDAs"), 1)
			}
			keyless := bytes.ReplaceAll(bytes.ReplaceAll(event, []byte("idempotency-key"), []byte("x")), []byte("Idempotency-Key"), []byte("x"))
			store := &hooked{Store: memory.New(0)}
			handler := g.handler(newExecutor(t, store, nil))
			var got bytes.Buffer
			for _, e := range [][]byte{event, event, other, keyless} {
				answer, err := handler.Invoke(t.Context(), e)
				check.Must(t, err)
				got.Write(answer)
				got.WriteByte('\n')
			}
			got.WriteString(store.last.ID + " " + store.last.Fingerprint + "\n")
			check.Golden(t, answers, g.name, got.String(), *updateHTTPGolden)
		})
	}
}

var paidHeaders = http.Header{"Content-Type": {"application/json"}, "Location": {"/payments/1"}, "X-Request-Id": {"r-1"}}

const paidBody = `{"id":"1","note":"<é>"}`

// on returns handlers of an adapter that respond with what paid returns.
func on[Req, Resp any](protect protection[Req, Resp], paid func(Req) Resp) func(httpapi.Scope) func(*idempotent.Executor) lambda.Handler {
	return func(s httpapi.Scope) func(*idempotent.Executor) lambda.Handler {
		return func(x *idempotent.Executor) lambda.Handler {
			return lambda.NewHandler(protect(x, s, func(_ context.Context, e Req) (Resp, error) { return paid(e), nil }, nil))
		}
	}
}

var (
	onV2 = on(httpapi.APIGatewayV2, func(events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Headers: first(paidHeaders), Cookies: []string{"a=1"}, Body: paidBody}
	})
	onURL = on(httpapi.FunctionURL, func(events.LambdaFunctionURLRequest) events.LambdaFunctionURLResponse {
		return events.LambdaFunctionURLResponse{StatusCode: 201, Headers: first(paidHeaders), Cookies: []string{"a=1"}, Body: paidBody}
	})
	onREST = on(httpapi.APIGateway, func(events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
		return events.APIGatewayProxyResponse{StatusCode: 201, Headers: first(paidHeaders), MultiValueHeaders: map[string][]string{"Link": {"<a>", "<b>"}}, Body: paidBody}
	})
	onALB = on(httpapi.ALB, func(e events.ALBTargetGroupRequest) events.ALBTargetGroupResponse {
		r := events.ALBTargetGroupResponse{StatusCode: 201, StatusDescription: "201 Created", Body: paidBody}
		if r.MultiValueHeaders = paidHeaders; e.MultiValueHeaders == nil {
			r.Headers, r.MultiValueHeaders = first(paidHeaders), nil
		}
		return r
	})
)

// eachKind is one handler of every kind, for tests that send what they like.
func eachKind(t testing.TB, config *idempotent.Config) map[string]lambda.Handler {
	kinds := map[string]lambda.Handler{}
	for kind, on := range map[string]func(httpapi.Scope) func(*idempotent.Executor) lambda.Handler{
		"APIGatewayV2": onV2, "APIGateway": onREST, "ALB": onALB, "FunctionURL": onURL,
	} {
		kinds[kind] = on(httpapi.NoIdentity())(newExecutor(t, memory.New(0), config))
	}
	return kinds
}

// An event of another kind has no method where this one looks for it. It is
// refused: it would pass unprotected.
func TestHTTPEventOfAnotherKind(t *testing.T) {
	// The formats 2.0 of API Gateway and of URLs are one, as are those of REST
	// APIs and load balancers but for their identities.
	for file, kinds := range map[string][]string{"apigateway-v2-jwt": {"APIGateway", "ALB"}, "alb-headers": {"APIGatewayV2", "FunctionURL"}} {
		event := handlertest.Golden(t, file+".json")
		for _, config := range []*idempotent.Config{nil, {OnMissingKey: idempotent.RunMissingKey}} {
			for _, kind := range kinds {
				_, detail := isProblem(t, invoked(t, t.Context(), eachKind(t, config)[kind], string(event)), 400)
				check.Contains(t, detail, "method", file, kind)
			}
		}
	}
}

// invoked returns the response to an event.
func invoked(t *testing.T, ctx context.Context, handler lambda.Handler, event string) httpReply {
	t.Helper()
	out, err := handler.Invoke(ctx, []byte(event))
	check.Must(t, err)
	r, err := parseWire(out)
	check.Must(t, err)
	return r
}

func TestHTTPMalformedEvents(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		event string // of all formats, with a METHOD
		want  int
	}{
		"an empty event":                        {`{}`, 400},
		"null":                                  {`null`, 400},
		"nothing but a method":                  {`{METHOD}`, 400},
		"headers that are null":                 {`{"headers":null,"multiValueHeaders":null,METHOD}`, 400},
		"a key that is null":                    {`{"headers":{"idempotency-key":null},"multiValueHeaders":{"idempotency-key":null},METHOD}`, 400},
		"two spellings of the header":           {`{"headers":{"idempotency-key":"k","Idempotency-Key":"k"},METHOD}`, 400},
		"nothing but a method and a key":        {`{"headers":{"idempotency-key":"k"},METHOD}`, 201},
		"a path and a query that do not decode": {`{"rawPath":"/%zz/%","rawQueryString":"%zz=%&&=&a","path":"/%zz/%","queryStringParameters":{"%zz":"%"},"headers":{"idempotency-key":"l"},METHOD}`, 201},
		"a body that is no base64":              {`{"isBase64Encoded":true,"body":"{","headers":{"idempotency-key":"m"},METHOD}`, 400},
		"a body of 1 MB":                        {`{"body":"` + huge + `","headers":{"idempotency-key":"n"},METHOD}`, 201},
		"a key of 1 MB":                         {`{"headers":{"idempotency-key":"` + huge + `"},METHOD}`, 400},
	} {
		for kind, handler := range eachKind(t, nil) {
			method := `"httpMethod":"POST"`
			if kind == "APIGatewayV2" || kind == "FunctionURL" {
				method = `"requestContext":{"http":{"method":"POST"}}`
			}
			event := strings.Replace(c.event, "METHOD", method, 1)
			for _, again := range []string{"", "true"} {
				r := invoked(t, t.Context(), handler, event)
				if c.want == 400 {
					isProblem(t, r, 400)
					continue
				}
				check.Equal(t, r.status, c.want, name, kind)
				check.Equal(t, r.headers.Get("Idempotent-Replayed"), again, name, kind)
			}
		}
	}
}
