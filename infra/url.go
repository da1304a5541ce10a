package infra

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// URLProps are the props of [IdempotentFunction.AddURL]. Auth is required.
type URLProps struct {
	// Auth is NONE, which lets anyone call, or AWS_IAM, which requires signed requests. With
	// NONE, callers share their keys, unless the function distinguishes them in another way.
	// With AWS_IAM, GrantInvokeUrl of the URL allows callers.
	Auth awslambda.FunctionUrlAuthType

	// CORS lets browsers call. It must let them send Idempotency-Key, and read
	// Idempotent-Replayed and Retry-After. Default: none.
	CORS *awslambda.FunctionUrlCorsOptions
}

// AddURL creates a URL of the function, or of its alias if it has one, in the mode BUFFERED.
// Clients wait as long as the function's Timeout. A URL cannot be throttled, except by
// reserved concurrency, and has no access log.
//
// AddURL panics with a [*PropsError] if the ExecutionTimeout of a durable function is more
// than 15 min, or if the function has a URL already.
func (f *IdempotentFunction) AddURL(props *URLProps) awslambda.FunctionUrl {
	const id = "URL"
	p := orZero(props)
	found := append(f.refuseWait("a function URL", maxMappingTime), refuseID(f.scope, id, "")...)
	found.when(!slices.Contains([]awslambda.FunctionUrlAuthType{awslambda.FunctionUrlAuthType_AWS_IAM, awslambda.FunctionUrlAuthType_NONE}, p.Auth),
		"Auth: state AWS_IAM or NONE, which decides whether callers share their keys")
	_, qualified := f.target().(awslambda.IVersion)
	_, alias := f.target().(awslambda.IAlias)
	found.when(qualified && !alias, "function: a version cannot have a URL; use an alias")
	if p.CORS != nil {
		found = append(found, refuseCORS(p.CORS.AllowCredentials, p.CORS.AllowedHeaders, p.CORS.ExposedHeaders)...)
	}
	found.panic(f.scope, id)
	url := awslambda.NewFunctionUrl(f.scope, jsii.String(id), &awslambda.FunctionUrlProps{
		AuthType: p.Auth, Cors: p.CORS, Function: f.target(), InvokeMode: awslambda.InvokeMode_BUFFERED,
	})
	f.watchServerErrors("the URL", lambdaMetric(f.Function, "Url5xxCount", "Sum"))
	return url
}
