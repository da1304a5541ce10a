package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/internal/check"
)

// The flags write each kind of scope as the adapters of package handlers do.
func TestRecordOfAnHTTPCallerIsFound(t *testing.T) {
	s := newScene(t)
	x := s.executor(nil)
	created := func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
	}
	caller := &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		JWT:    &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"iss": "https://a/", "sub": `ada "+"`}},
		Lambda: map[string]any{"tenantId": float64(17)},
		IAM:    &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::1:user/ada"},
	}
	pool := &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
		IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{
			CognitoIdentity: events.APIGatewayV2HTTPRequestContextAuthorizerCognitoIdentity{IdentityID: "eu-central-1:1"},
		},
	}
	for flags, c := range map[string]struct {
		scope httpapi.Scope
		by    *events.APIGatewayV2HTTPRequestContextAuthorizerDescription
	}{
		`claim["sub"]=ada "+"`:                         {httpapi.JWTClaim("sub"), caller},
		`claim["iss"]=https://a/|claim["sub"]=ada "+"`: {httpapi.JWTSubject(), caller},
		`authorizer["tenantId"]=17`:                    {httpapi.AuthorizerField("tenantId"), caller},
		"iam=arn:aws:iam::1:user/ada":                  {httpapi.IAMUser(), caller},
		"cognito=eu-central-1:1":                       {httpapi.CognitoIdentity(), pool},
		"tenant=blue":                                  {httpapi.Tenant(), caller},
		`tenant=blue|authorizer["tenantId"]=17`:        {httpapi.AllOf(httpapi.Tenant(), httpapi.AuthorizerField("tenantId")), caller},
		"func=ada":                                     {httpapi.ScopeFunc(func(context.Context, httpapi.Caller) (string, error) { return "ada", nil }), caller},
		"":                                             {httpapi.NoIdentity(), caller},
	} {
		event := events.APIGatewayV2HTTPRequest{
			Version: "2.0", RawPath: "/payments", Body: "{}", Headers: map[string]string{"idempotency-key": fmt.Sprintf("k-%x", flags)},
			RequestContext: events.APIGatewayV2HTTPRequestContext{
				HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "POST", Path: "/payments"}, Authorizer: c.by,
			},
		}
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: "blue"})
		answer, err := httpapi.APIGatewayV2(x, c.scope, created, nil)(ctx, event)
		if err != nil || answer.StatusCode != 201 {
			t.Fatalf("%s: %d %s, %v", flags, answer.StatusCode, answer.Body, err)
		}
		args := []string{"inspect", "--operation", "pay", event.Headers["idempotency-key"]}
		for part := range strings.SplitSeq(flags, "|") {
			if part != "" {
				args = append(args, "--scope", part)
			}
		}
		check.Contains(t, s.ok(args...), "COMPLETED", "once", args)
	}
}

func TestRecordOfARequestScopeIsFound(t *testing.T) {
	s := newScene(t)
	protect := httpapi.Middleware(s.executor(nil), httpapi.RequestScope(func(*http.Request) (string, error) { return "ada", nil }), nil)
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/payments", strings.NewReader("{}"))
	r.Header.Set("Idempotency-Key", "k-1")
	protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) })).ServeHTTP(httptest.NewRecorder(), r)
	s.ok("inspect", "--operation", "pay", "--scope", "request=ada", "k-1")
}

func TestRecordOfAnAPIKeyIsFound(t *testing.T) {
	s := newScene(t)
	created := func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		return events.APIGatewayProxyResponse{StatusCode: 201}, nil
	}
	event := events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/payments", Body: "{}", Headers: map[string]string{"Idempotency-Key": "k-1"}}
	event.RequestContext.Identity.APIKeyID = "a1b2"
	if answer, err := httpapi.APIGateway(s.executor(nil), httpapi.APIKey(), created, nil)(t.Context(), event); err != nil || answer.StatusCode != 201 {
		t.Fatalf("%+v, %v", answer, err)
	}
	s.ok("inspect", "--operation", "pay", "--scope", "apikey=a1b2", "k-1")
}

// A name without its kind is told how to give it.
func TestScopeWithoutItsKindIsHinted(t *testing.T) {
	s := newScene(t)
	if _, err := s.pay(s.executor(&idempotent.Config{}), "p-1"); err != nil {
		t.Fatal(err)
	}
	s.refused(cli.CodeNoRecord, "--scope 'claim[\"sub\"]=eve'", "inspect", "--operation", "pay", "--scope", "eve", "order-1")
	s.refused(cli.CodeUsage, "is a variable unset?", "inspect", "--operation", "pay", "--scope", "", "order-1")
}

// The id in an error text finds the record. So do its digits, with or without the operation.
func TestRecordIsFoundByTheIdOfAnError(t *testing.T) {
	onStores(t, func(s *storeScene) {
		s.claim("pay#0000000000000000", time.Hour)
		id, err := idempotent.Key{Scope: "ada", ID: "order-1"}.RecordID("pay")
		check.Must(t, err)
		s.claim(id, time.Hour)
		x, err := idempotent.New("pay", s.records, nil)
		check.Must(t, err)
		_, err = s.pay(x, "p-1")
		check.Contains(t, fmt.Sprint(err), "key "+id+" ")
		_, hash, _ := strings.Cut(id, "#")
		digits := hash[:12]
		for _, args := range [][]string{
			{digits}, {"pay#" + digits}, {"--operation", "pay", digits}, {hash}, {"--operation", "pay", hash}, {id},
			{"--operation", "pay", "--scope", "ada", "order-1"},
		} {
			s.prints(id, append([]string{"inspect"}, args...)...)
		}
		s.ends(cli.CodeNoRecord, "no record of operation refund", "inspect", "--operation", "refund", digits)
		s.ends(cli.CodeNoRecord, "give its --operation", "inspect", "0123456789ab")
		s.prints("released: "+id, "release", digits, "--yes", "--force")
	})
}

// The hash of a key with a Record, such as one of Powertools, is no part of its id.
func TestRecordOfAnotherLibraryIsFoundByTheDigits(t *testing.T) {
	s := newScene(t)
	x := s.executor(nil)
	ctx, event := adapter.WithEvent(t.Context())
	_, err := idempotent.Do(ctx, x, idempotent.Key{Record: "app.handler#Xa=="}, func(context.Context) (int, error) { return 1, nil })
	check.Must(t, err)
	check.Contains(t, s.ok("inspect", event.RecordID), "app.handler#Xa==")
}

// One key under two operations has one hash.
func TestDigitsOfSeveralRecordsAreRefused(t *testing.T) {
	s := newScene(t)
	var digits string
	for _, operation := range []string{"pay", "refund"} {
		id, err := idempotent.Key{ID: "order-1"}.RecordID(operation)
		check.Must(t, err)
		s.claimed(id, "a", time.Now())
		digits = strings.Split(id, "#")[1][:12]
	}
	s.refused(cli.CodeUsage, "refund#"+digits, "release", "--yes", digits)
	s.ok("inspect", "refund#"+digits)
}
