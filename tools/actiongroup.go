package tools

import (
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// ActionGroup serves tools as the functions of an action group of Amazon Bedrock Agents,
// with function details. The name of a function is that of the tool. Such events have no
// idempotency key of a client: the key is made of the arguments.
//
// The result is the tool's, as text. A refusal has the responseState REPROMPT, with which
// its text reaches the model: FAILURE would end the conversation with an exception.
//
// ActionGroup panics with a [*driver.ConfigError] if an argument is wrong.
func ActionGroup(scope Scope, tools ...*Tool) func(context.Context, json.RawMessage) (json.RawMessage, error) {
	byName := named("ActionGroup", scope, tools)
	return func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		var e actionEvent
		if err := json.Unmarshal(event, &e); err != nil {
			return nil, &UnknownToolError{Door: "ActionGroup"}
		}
		tool, ok := byName[e.Function]
		if !ok {
			return nil, &UnknownToolError{Door: "ActionGroup"}
		}
		caller := Caller{
			Tool: e.Function, AgentID: e.Agent.ID, AgentAlias: e.Agent.Alias, SessionID: e.SessionID,
			SessionAttributes: e.SessionAttributes, PromptAttributes: e.PromptSessionAttributes,
		}
		arguments, err := e.arguments(tool.input)
		if err != nil {
			return nil, err
		}
		return json.Marshal(e.response(tool.serve(ctx, &request{
			arguments: arguments,
			key:       func() (string, error) { return "", nil },
			scope:     func() (string, error) { return scope.find(ctx, caller) },
		})))
	}
}

// actionEvent is what Bedrock sends.
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
	arguments := make(map[string]json.RawMessage, len(e.Parameters))
	for _, p := range e.Parameters {
		property := schema.Properties[p.Name]
		if property != nil && property.Type != "string" && json.Valid([]byte(p.Value)) {
			arguments[p.Name] = json.RawMessage(p.Value)
			continue
		}
		text, err := json.Marshal(p.Value)
		if err != nil {
			return nil, err
		}
		arguments[p.Name] = text
	}
	return json.Marshal(arguments)
}

// mostActionBytes is the size of the largest result that Bedrock takes, 25 KB, with the
// envelope.
const mostActionBytes = 24_000

// actionResponse is what Bedrock takes.
type actionResponse struct {
	MessageVersion          string            `json:"messageVersion"`
	Response                actionResult      `json:"response"`
	SessionAttributes       map[string]string `json:"sessionAttributes,omitempty"`
	PromptSessionAttributes map[string]string `json:"promptSessionAttributes,omitempty"`
}

type actionResult struct {
	ActionGroup      string         `json:"actionGroup"`
	Function         string         `json:"function"`
	FunctionResponse functionResult `json:"functionResponse"`
}

type functionResult struct {
	ResponseState string              `json:"responseState,omitempty"`
	ResponseBody  map[string]textBody `json:"responseBody"`
}

type textBody struct {
	Body string `json:"body"`
}

func (e *actionEvent) response(a answer) actionResponse {
	if len(a.result) > mostActionBytes {
		a = tooLarge(len(a.result))
	}
	text, state := string(a.result), ""
	if a.result == nil {
		text, state = a.text, "REPROMPT"
	}
	return actionResponse{
		MessageVersion: "1.0", SessionAttributes: e.SessionAttributes, PromptSessionAttributes: e.PromptSessionAttributes,
		Response: actionResult{e.ActionGroup, e.Function, functionResult{state, map[string]textBody{"TEXT": {text}}}},
	}
}
