package dynamo

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/fault"
	"github.com/lambda-once/once/dynamo/internal/group"
)

const opBatch = "BatchExecuteStatement"

type groupCall = group.Call[*statement, answer]

// send makes the writes, or reads, of a shared request. Each has its own answer: a write
// that is refused or fails changes nothing for the rest. A write that the answer
// does not settle goes alone. Its own request then has an error that callers know,
// and the SDK retries it with its backoff, for as long as its caller stays.
func (g *grouping) send(ctx context.Context, calls []*groupCall) {
	defer g.logPanic(ctx)
	if g.off.Load() {
		goAlone(calls)
		return
	}
	if calls[0].Work.read {
		g.answerReads(ctx, calls)
		return
	}
	in := &dynamodb.BatchExecuteStatementInput{Statements: make([]types.BatchStatementRequest, len(calls))}
	for i, c := range calls {
		in.Statements[i] = types.BatchStatementRequest{
			Parameters:                          c.Work.parameters,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			Statement:                           &c.Work.text,
		}
	}
	out, err := g.client.BatchExecuteStatement(ctx, in, quiet, sentOnce)
	if err != nil || len(out.Responses) != len(calls) {
		g.checkDenied(ctx, err, "PartiQLInsert, PartiQLUpdate and PartiQLDelete")
		goAlone(calls)
		return
	}
	var refused []*groupCall
	for i, c := range calls {
		failed := out.Responses[i].Error
		if failed == nil {
			// A DELETE without its item has met no record, and deleted none.
			deleted := len(out.Responses[i].Item) > 0
			c.Answer(answer{met: c.Work.leaves, ok: deleted || !c.Work.delete})
			continue
		}
		switch failed.Code {
		case types.BatchStatementErrorCodeEnumConditionalCheckFailed, types.BatchStatementErrorCodeEnumDuplicateItem:
			if len(failed.Item) > 0 {
				c.Answer(g.refusal(c.Work, failed.Item))
				continue
			}
			refused = append(refused, c)
		case types.BatchStatementErrorCodeEnumAccessDenied:
			g.denied(ctx, c.Work.permission)
			c.Answer(answer{alone: true})
		default:
			c.Answer(answer{alone: true})
		}
	}
	g.readRefused(ctx, refused)
}

// sentOnce keeps the SDK from sending a shared request again. Callers that have left
// may have taken their writes back.
func sentOnce(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// refusal returns the answer to a refused write whose record is in item.
//
// The record may have been read after the refusal, and be in a later state. The
// contract allows that, as after a conflict: nothing was written for certain, and the
// core rules on the record whenever it was read.
//
// A write is sent again if a Create would write over the item: if there is no
// record, an expired one, or an item that is not a record, which may be expired.
func (g *grouping) refusal(st *statement, item map[string]types.AttributeValue) answer {
	met, err := g.store.format.Record(item)
	if err != nil || met.ID != st.id || st.insert && met.Expired(st.cutoff) {
		return answer{alone: true}
	}
	return answer{met: met}
}

func goAlone(calls []*groupCall) {
	for _, c := range calls {
		c.Answer(answer{alone: true})
	}
}

// checkDenied reports the denial of a whole request.
func (g *grouping) checkDenied(ctx context.Context, err error, permission string) {
	if fault.Denied(err) {
		_, message := fault.Code(err)
		action, _ := fault.DeniedAction(message)
		g.denied(ctx, cmp.Or(strings.TrimPrefix(action, "dynamodb:"), permission))
	}
}

// logPanic reports a panic where its stack can still be seen: the calls of the
// request return it as an error.
func (g *grouping) logPanic(ctx context.Context) {
	if p := recover(); p != nil {
		slog.Default().LogAttrs(ctx, slog.LevelError, "dynamo: a shared request panicked",
			slog.String("table", g.store.table), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		panic(p)
	}
}

// denied turns group commit off, and says so once.
func (g *grouping) denied(ctx context.Context, permission string) {
	if g.off.Swap(true) {
		return
	}
	slog.Default().LogAttrs(ctx, slog.LevelWarn,
		"dynamo: group commit is off, and every write is a request: access denied; grant the role the permission, or leave Options.Group 0",
		slog.String("table", g.store.table), slog.String("permission", "dynamodb:"+permission))
}
