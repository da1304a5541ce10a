package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// rewritten is what a [pgx.QueryRewriter] of the handler has returned.
type rewritten struct {
	sql  string
	args []any
	err  error
}

var _ pgx.QueryRewriter = rewritten{}

func (r rewritten) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return r.sql, r.args, r.err
}

// rewrite calls the rewriter among args, as pgx does, and returns the text that pgx will
// send: that one can be checked. In place of the rewriter it returns its result, which is
// not called again, because it might return another text.
func rewrite(ctx context.Context, conn *pgx.Conn, sql string, args []any) (string, []any) {
	options := slices.IndexFunc(args, func(arg any) bool { return !isOption(arg) })
	if options < 0 {
		options = len(args)
	}
	for i := options - 1; i >= 0; i-- { // of several, pgx calls the last
		if by, ok := args[i].(pgx.QueryRewriter); ok {
			var r rewritten
			r.sql, r.args, r.err = by.RewriteQuery(ctx, conn, sql, args[options:])
			args = append(slices.Clone(args[:options]), r)
			return r.sql, args
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
