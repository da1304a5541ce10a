package tools

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// ActionGroup serves tools as the functions of an action group of Amazon Bedrock Agents,
// with function details. The name of a function is that of the tool. Such events have no
// idempotency key of a client: the key is made of the arguments.
//
// The result is the tool's, as text. A refusal has the responseState REPROMPT, with which
// its text reaches the model: FAILURE would end the conversation with an exception.
//
// ActionGroup panics with a [*driver.ConfigError] if an argument is wrong. The handler
// returns one for a tool that is configured there and not here, and runs nothing.
func ActionGroup(scope Scope, tools ...*Tool) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	find := named("ActionGroup", scope, tools)
	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		var e actionEvent
		if json.Unmarshal(event, &e) != nil {
			e = actionEvent{} // which names no tool
		}
		tool, err := find(e.Function)
		if err != nil {
			return nil, err
		}
		caller := Caller{
			AgentID: e.Agent.ID, AgentAlias: e.Agent.Alias, SessionID: e.SessionID,
			SessionAttributes: e.SessionAttributes, PromptAttributes: e.PromptSessionAttributes,
		}
		arguments, err := e.arguments(tool.input)
		if err != nil {
			return nil, err
		}
		return tool.serve(ctx, &request{arguments: arguments, caller: caller, scope: scope}).within(mostActionBytes, e.response)
	}
}

// actionEvent is the event of Bedrock.
type actionEvent struct {
	Agent struct {
		ID    string `json:"id"`
		Alias string `json:"alias"`
	} `json:"agent"`
	SessionID   string `json:"sessionId"`
	ActionGroup string `json:"actionGroup"`
	Function    string `json:"function"`
	Parameters  []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"parameters"`
	SessionAttributes       map[string]string `json:"sessionAttributes"`
	PromptSessionAttributes map[string]string `json:"promptSessionAttributes"`
}

// arguments returns the parameters as an object. Each value is a text in the event: it is
// one for the tool too if the schema says so, and otherwise the JSON that it spells.
func (e *actionEvent) arguments(schema *jsonschema.Schema) (json.RawMessage, error) {
	arguments := make(map[string]any, len(e.Parameters))
	for _, p := range e.Parameters {
		arguments[p.Name] = p.Value
		property := schema.Properties[p.Name]
		isText := property == nil || property.Type == "string" || slices.Contains(property.Types, "string")
		if !isText && json.Valid([]byte(p.Value)) {
			arguments[p.Name] = json.RawMessage(p.Value)
		}
	}
	return json.Marshal(arguments)
}

// mostActionBytes is the size of the largest response that Bedrock takes.
const mostActionBytes = 25_000

// response returns the answer in the form of Bedrock.
func (e *actionEvent) response(a answer) ([]byte, error) {
	result := map[string]any{"responseBody": map[string]any{"TEXT": map[string]any{"body": string(a.result) + a.text}}}
	if a.result == nil {
		result["responseState"] = "REPROMPT"
	}
	response := map[string]any{
		"messageVersion": "1.0",
		"response":       map[string]any{"actionGroup": e.ActionGroup, "function": e.Function, "functionResponse": result},
	}
	// Bedrock keeps those that come back.
	if e.SessionAttributes != nil {
		response["sessionAttributes"] = e.SessionAttributes
	}
	if e.PromptSessionAttributes != nil {
		response["promptSessionAttributes"] = e.PromptSessionAttributes
	}
	return json.Marshal(response)
}
