package work

import (
	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
)

// A Server is where the records of a series are.
type Server int

// The servers.
const (
	DynamoDB Server = iota
	PostgreSQL
	Durable // a PostgreSQL whose commits wait for the disk
	Redis
	Process // none: in memory
)

func (s Server) isPostgreSQL() bool { return s == PostgreSQL || s == Durable }

// A Series is a way to make calls. A worker makes those of one series.
type Series struct {
	On     Server
	ByHand bool // without Once
	Node   bool // in TypeScript
	Procs  int  // GOMAXPROCS; 0: as Go chooses
	Uneven bool // handlers take 1 to 50 ms

	Config idempotent.Config
	Store  dynamo.Options
	Queue  handlers.SQSOptions
}

// All are the series that are measured, by their names.
var All = map[string]Series{
	"hand":       {ByHand: true},
	"once":       {},
	"grouped":    {Store: dynamo.Options{Group: 1}},
	"grouped-4":  {Store: dynamo.Options{Group: 4}},
	"read-first": {Config: idempotent.Config{ReadFirst: true}},
	"typescript": {Node: true, ByHand: true},
	"powertools": {Node: true},

	"postgres-hand": {On: PostgreSQL, ByHand: true},
	"postgres":      {On: PostgreSQL},
	"durable-hand":  {On: Durable, ByHand: true},
	"durable":       {On: Durable},
	"redis-hand":    {On: Redis, ByHand: true},
	"redis":         {On: Redis},
	"memory":        {On: Process},

	"in-turn":          {Config: idempotent.Config{Ahead: -1}},
	"ahead":            {},
	"ahead-unrecorded": {Queue: handlers.SQSOptions{Unrecorded: 10}},
	"ahead-grouped":    {Queue: handlers.SQSOptions{Unrecorded: 10}, Store: dynamo.Options{Group: 1}},
	"ahead-grouped-uneven": {
		Queue: handlers.SQSOptions{Concurrency: 5, Unrecorded: 10}, Store: dynamo.Options{Group: 1}, Uneven: true,
	},
	"in-turn-one":       {Config: idempotent.Config{Ahead: -1}, Procs: 1},
	"ahead-grouped-one": {Queue: handlers.SQSOptions{Unrecorded: 10}, Store: dynamo.Options{Group: 1}, Procs: 1},
}
