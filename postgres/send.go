package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
)

// querier is a DB, or a connection of it.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// send runs a statement that returns a record, or no row.
func send(ctx context.Context, db querier, st statement) (r row, found bool, err error) {
	rows, err := db.Query(ctx, st.sql, st.args...)
	if err != nil {
		return row{}, false, err
	}
	return oneRow(rows)
}

// insert runs a statement of layout.insert. It does not read the columns of the row that
// begins with true: most calls are first ones.
func insert(ctx context.Context, db querier, st statement) (met row, ok bool, err error) {
	rows, err := db.Query(ctx, st.sql, st.args...)
	if err != nil {
		return row{}, false, err
	}
	defer rows.Close()
	if rows.Next() {
		written := rows.RawValues()[0]
		if ok = written[0] == 1 || written[0] == 't'; !ok { // binary or text
			met, err = scan(rows, &ok)
		}
	}
	rows.Close()
	// After the row: a conflict surfaces at the commit, and so behind it.
	if err = cmp.Or(err, rows.Err()); err != nil {
		return row{}, false, err
	}
	return met, ok, nil
}

// affects runs a write, and reports whether it affects a row.
func affects(ctx context.Context, db querier, st statement) (bool, error) {
	rows, err := db.Query(ctx, st.sql, st.args...)
	if err != nil {
		return false, err
	}
	rows.Close()
	// Not before the error: a conflict surfaces at the commit, and so behind the count.
	return rows.Err() == nil && rows.CommandTag().RowsAffected() > 0, rows.Err()
}

// oneRow reads a record, if there is one.
func oneRow(rows pgx.Rows) (r row, found bool, err error) {
	defer rows.Close()
	if found = rows.Next(); found {
		if r, err = scan(rows); err != nil {
			return row{}, false, err
		}
	}
	rows.Close()
	return r, found, rows.Err() // after the row, as in insert
}
