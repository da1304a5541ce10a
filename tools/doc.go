// Package tools serves functions to models as tools that run once. A model repeats a
// call after a timeout, and plans the same call anew with a new request id. All calls
// with one key run the function once, and each receives its result.
//
// A [Tool] is declared once and served by up to three doors, each a handler for
// lambda.Start: [MCP] is a Model Context Protocol server behind a function URL or an
// HTTP API, [Gateway] a Lambda target of Amazon Bedrock AgentCore Gateway, and
// [ActionGroup] the functions of an action group of Amazon Bedrock Agents.
//
// The key of a call is the client's idempotency key, or else the result of the tool's key
// function for the arguments, both within the [Scope] of the caller. The id of a
// JSON-RPC request, the tool-use id of a model, and the time are no part of it: they
// change with each repetition.
//
// A refusal is a result that a model can act on: it says whether to repeat the call, and
// when. Only a permanent error's own text reaches the model (see
// [idempotent.Permanent]).
package tools
