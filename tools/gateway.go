package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Gateway serves tools as a Lambda target of Amazon Bedrock AgentCore Gateway. The event
// is the arguments, and the client context has the tool's name behind that of the target.
// The client's idempotency key is its header Idempotency-Key, if the target propagates it
// (allowedRequestHeaders).
//
// The result is the tool's. A refusal is an object with the text in error and, if a later
// repetition may overcome it, the seconds to wait in retryAfterSeconds: a gateway need not
// pass the text of a function's error to the model.
//
// Gateway panics with a [*driver.ConfigError] if an argument is wrong. The handler returns
// one for a tool that is configured there and not here, and runs nothing.
func Gateway(scope Scope, tools ...*Tool) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	find := named("Gateway", scope, tools)
	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		var custom map[string]string
		if lc, ok := lambdacontext.FromContext(ctx); ok {
			custom = lc.ClientContext.Custom
		}
		_, name, _ := strings.Cut(custom["bedrockAgentCoreToolName"], "___")
		tool, err := find(name)
		if err != nil {
			return nil, err
		}
		caller := Caller{
			Header:    propagated(custom["bedrockAgentCorePropagatedHeaders"]),
			GatewayID: custom["bedrockAgentCoreGatewayId"], TargetID: custom["bedrockAgentCoreTargetId"],
		}
		return tool.serve(ctx, &request{arguments: event, caller: caller, scope: scope}).within(mostBytes, answer.toJSON)
	}
}

// propagated returns the headers that the target propagates, from their JSON text.
func propagated(text string) http.Header {
	header := http.Header{}
	var values map[string]any
	if json.Unmarshal([]byte(text), &values) != nil {
		return header // there are none
	}
	for name, value := range values {
		several, ok := value.([]any)
		if !ok {
			several = []any{value}
		}
		for _, one := range several {
			header.Add(name, fmt.Sprint(one))
		}
	}
	return header
}

func (a answer) toJSON() ([]byte, error) {
	if a.result != nil {
		return a.result, nil
	}
	return json.Marshal(struct {
		Error      string `json:"error"`
		RetryAfter int    `json:"retryAfterSeconds,omitempty"`
	}{a.text, a.retryAfter})
}
