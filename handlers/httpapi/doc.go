// Package httpapi protects handlers of HTTP requests by an idempotency key:
//
//	lambda.Start(httpapi.APIGatewayV2(x, httpapi.JWTSubject(), createPayment, nil))
//
// [APIGatewayV2], [APIGateway], [ALB] and [FunctionURL] protect handlers of HTTP
// events, and [Middleware] protects handlers of net/http, by the header
// Idempotency-Key of draft-ietf-httpapi-idempotency-key-header-07. All share one
// implementation of the rules. [Options].Key finds a key elsewhere, such as in the
// body of a webhook.
//
// The first client receives the handler's response itself. A repetition has the
// same key, method, path, query and body, and receives the stored status,
// headers and body with Idempotent-Replayed: true. Other requests are refused
// with a problem (RFC 9457):
//
//	400  the key is missing or malformed
//	403  the request does not identify its caller
//	409  the first request is running; Retry-After says when to repeat
//	410  the key is so old that the first response may be gone, see [Options].Issued
//	422  the key was used for a different request
//
// A problem quotes neither keys nor bodies. It is not stored, unless it replaces
// a response of a [Middleware] that is too large to be stored. Responses that
// report an error of the server, or refuse a request before any effect, are not
// stored either: they release the key. See [Options].
//
// A handler that fails returns a [StatusError], or passes it to [Fail]. If its
// status is stored, the request fails permanently and its saga is undone. A
// response that a handler makes itself counts as a success, whatever its status.
//
// A key belongs to its caller, which a [Scope] identifies. A scope has no
// default, so that two callers never share a response by accident. [NoIdentity]
// states that all callers share their keys.
//
// A handler that calls an API of its own sets the headers of each request with
// [SetChainHeaders]. [Options].ContinueChains continues the chain there.
//
// Streaming responses cannot be stored: the adapters do not take their types,
// and a Middleware sends a response when the handler has returned.
//
// Handlers are safe for concurrent use: an environment may run several
// invocations at a time (AWS_LAMBDA_MAX_CONCURRENCY).
package httpapi
