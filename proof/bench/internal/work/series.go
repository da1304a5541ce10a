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
	Redis
	Process // none: in memory
)

// A Series is a way to make calls. A worker makes those of one series.
type Series struct {
	Name  string
	Label string // on the page

	On     Server
	ByHand bool // without Once
	Node   bool // in TypeScript
	Procs  int  // GOMAXPROCS; 0: as Go chooses

	Config  idempotent.Config
	Store   dynamo.Options
	Queue   handlers.SQSOptions
	Records handlers.KinesisOptions
}

// All are the series that are measured.
var All = []Series{
	{Name: "hand", Label: "SDK by hand", ByHand: true},
	{Name: "once", Label: "Once"},
	{Name: "grouped", Label: "Once, Group 1", Store: dynamo.Options{Group: 1}},
	{Name: "grouped-4", Label: "Once, Group 4", Store: dynamo.Options{Group: 4}},
	{Name: "read-first", Label: "Once, ReadFirst", Config: idempotent.Config{ReadFirst: true}},
	{Name: "typescript", Label: "Powertools for TypeScript", Node: true},

	{Name: "postgres-hand", Label: "PostgreSQL by hand", On: PostgreSQL, ByHand: true},
	{Name: "postgres", Label: "Once on PostgreSQL", On: PostgreSQL},
	{Name: "redis", Label: "Once on Redis", On: Redis},
	{Name: "memory", Label: "Once in memory", On: Process},

	{Name: "in-turn", Label: "In turn", Queue: handlers.SQSOptions{Ahead: -1}, Records: handlers.KinesisOptions{Ahead: -1}},
	{Name: "ahead", Label: "Ahead"},
	{Name: "ahead-unrecorded", Label: "Ahead, Unrecorded 10", Queue: handlers.SQSOptions{Unrecorded: 10}},
	{Name: "ahead-grouped", Label: "The same, Group 1", Queue: handlers.SQSOptions{Unrecorded: 10}, Store: dynamo.Options{Group: 1}},
	{Name: "ahead-grouped-one", Label: "The same, GOMAXPROCS=1", Queue: handlers.SQSOptions{Unrecorded: 10}, Store: dynamo.Options{Group: 1}, Procs: 1},
}
