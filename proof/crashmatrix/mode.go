// Package crashmatrix kills compiled programs at every network call they make,
// and counts the effects that remain when the caller has its answer.
//
// Each mode runs once undisturbed, to record its calls to DynamoDB, to other
// servers, and to the Lambda Runtime API. It then runs twice for every call, each
// time in a world of its own. The process is killed (SIGKILL) before it sends the
// call, or after the server has answered and before the process knows. The caller
// repeats its request in new processes until it receives an answer, and then once
// more: the second answer must be the same.
//
// The program shop has the options that may keep a call from running, and a resumer. There
// the caller goes away with its process, and comes back when the resumer is done, or the
// resumer is killed at every call.
//
// A mode is an entry in modes, and a world that counts its effects.
package crashmatrix

import (
	"context"

	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/internal/providers"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// mode is one way in which a compiled program has its effects.
type mode struct {
	name    string
	program string // its folder in the repository
	promise string // what holds at every point
	// harmful means that the promise must be broken at one point at least, or
	// the matrix shows nothing.
	harmful bool
	// exactly means that the promise is one effect, wherever the crash is.
	exactly bool
	// depends means that the promise depends on where the crash is.
	depends bool
	// database means that the world is in PostgreSQL.
	database bool
	// short omits the kills before a call.
	short bool
	// first is where a process is killed before the run, which then begins with
	// a takeover after the lease. The zero value means nowhere.
	first kill.Point
	// same compares the first answer with a later one. Nil compares the payloads.
	same func(first, later lambdaruntime.Response) error
	// world creates the world of one run, which shares nothing with further runs. Its Check
	// stores in the result which effects it has seen.
	world func(context.Context, *stage) (*kill.World, error)
}

var modes = []mode{
	{
		name: "plain", program: "examples/transfer", harmful: true, depends: true,
		promise: "one debit and one credit; two separate updates cannot keep it",
		world:   transferIn("plain"),
	},
	{
		name: "transactional", program: "examples/transfer", exactly: true,
		promise: "one debit and one credit",
		world:   transferIn("transactional"),
	},
	{
		name: "optimistic", program: "examples/transfer", exactly: true,
		promise: "one debit and one credit",
		world:   transferIn("optimistic"),
	},
	{
		name: "transactional, twice", program: "examples/transfer",
		promise: "one debit and one credit, though a first process was killed behind its claim",
		first:   after(2, "dynamodb", "PutItem"),
		world:   transferIn("transactional"),
	},
	{
		name: "PostgreSQL, plain", program: "examples/transfer", harmful: true, depends: true, database: true,
		promise: "one debit and one credit; two separate updates cannot keep it",
		world:   transferInPostgreSQL("plain"),
	},
	{
		name: "PostgreSQL, transactional", program: "examples/transfer", exactly: true, database: true,
		promise: "one debit and one credit, in the transaction in which the call completes",
		world:   transferInPostgreSQL("transactional"),
	},
	{
		name: "PostgreSQL, collected", program: "examples/transfer", exactly: true, database: true,
		promise: "one debit and one credit, without a connection while the handler runs",
		world:   transferInPostgreSQL("collected"),
	},
	{
		name: "PostgreSQL, optimistic", program: "examples/transfer", database: true,
		promise: "one debit and one credit",
		world:   transferInPostgreSQL("optimistic"),
	},
	{
		name: "steps", program: "examples/checkout", depends: true,
		promise: "a step at a service that knows no keys is done once, or twice if killed between it and its record",
		world:   checkout{forgetful: true}.world,
	},
	{
		name: "steps with keys", program: "examples/checkout",
		promise: "a step at a service that honours its downstream key is done once",
		world:   checkout{}.world,
	},
	{
		name: "steps with keys, twice", program: "examples/checkout",
		promise: "the same, though a first process was killed between a step and its record",
		first:   after(3, "services", "POST "+reserve),
		world:   checkout{}.world,
	},
	{
		name: "saga, a step fails", program: "examples/checkout",
		promise: "what was done is undone, once, and nothing is placed",
		world:   checkout{card: providers.Declined, failure: "CardDeclinedError"}.world,
	},
	{
		name: "saga, the commit fails", program: "examples/checkout",
		promise: "what was done is undone, once, and nothing is placed",
		world:   checkout{exists: true, failure: "OrderExistsError"}.world,
	},
	{
		name: "saga, its reason goes away", program: "examples/checkout",
		promise: "what has begun to be undone is not placed, though nothing refuses it any more",
		world:   checkout{exists: true, relents: true, failure: "OrderExistsError"}.world,
	},
	{
		name: "saga, twice", program: "examples/checkout",
		promise: "the same, though a first process was killed while it undid a step",
		first:   after(11, "services", "POST "+refund),
		world:   checkout{exists: true, failure: "OrderExistsError"}.world,
	},
	{
		name: "options", program: shop,
		promise: "the same as steps with keys, under RefuseLate, ProviderMemory and Resume",
		world:   abandoned{}.repeated,
	},
	{
		name: "resumed", program: shop,
		promise: "a resumer finishes what has begun, once, and the client that comes back is answered",
		world:   abandoned{}.resumed,
	},
	{
		name: "resumed, the commit fails", program: shop,
		promise: "a resumer undoes what was done, once, and the client that comes back is answered",
		world:   abandoned{checkout{exists: true, failure: "OrderExistsError"}}.resumed,
	},
	{
		name: "resumer", program: shop, same: nothingMore,
		promise: "the same, though a first process was killed between a step and its record, and the resumer is",
		world:   abandoned{checkout{exists: true, failure: "OrderExistsError"}}.resumer,
	},
	{
		name: "outbox", program: "examples/relay",
		promise: "every message is out, in order, none is marked before, and one that is out again has the same deduplication id",
		world:   relay,
	},
}

func after(number int, server, operation string) kill.Point {
	return kill.Point{Call: lambdaruntime.Call{Number: number, Server: server, Operation: operation}, At: lambdaruntime.After}
}

// succeeded is the Final of functions all of whose errors are retryable.
func succeeded(r lambdaruntime.Response) bool { return r.FunctionError == nil }
