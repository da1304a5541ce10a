package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// rewritten is the result of a [pgx.QueryRewriter] of the handler, beside the text.
type rewritten struct {
	args []any
	err  error
}

var _ pgx.QueryRewriter = rewritten{}

// RewriteQuery leaves the text as it is.
func (r rewritten) RewriteQuery(_ context.Context, _ *pgx.Conn, sql string, _ []any) (string, []any, error) {
	return sql, r.args, r.err
}

// rewrite calls the rewriter among args, as pgx does, and returns the text that pgx would
// send, so that it can be checked. With the returned arguments, pgx does not call the
// rewriter again, which might return a different text.
func rewrite(ctx context.Context, conn *pgx.Conn, sql string, args []any) (string, []any) {
	options := slices.IndexFunc(args, func(arg any) bool { return !isOption(arg) })
	if options < 0 {
		options = len(args)
	}
	for i := options - 1; i >= 0; i-- { // of several, pgx calls the last
		if by, ok := args[i].(pgx.QueryRewriter); ok {
			var r rewritten
			sql, r.args, r.err = by.RewriteQuery(ctx, conn, sql, args[options:])
			return sql, append(slices.Clone(args[:options]), r)
		}
	}
	return sql, args
}

// isOption reports whether pgx takes an argument that is not preceded by a value for an
// option of the query.
func isOption(arg any) bool {
	switch arg.(type) {
	case pgx.QueryRewriter, pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
		return true
	}
	return false
}
