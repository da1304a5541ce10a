package postgres

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// timedOut returns a [*TransactionError] for a statement of a handler that the server
// has cancelled, and any other error as it is.
func timedOut(err error) error {
	if _, ok := err.(*TransactionError); ok || !isTimeout(err) {
		return err
	}
	return transactionError(-1, err)
}

// timedRows, timedRow and timedResults are the answers to a handler's statements, with
// the errors of timedOut.
type timedRows struct{ pgx.Rows }

func (r timedRows) Err() error { return timedOut(r.Rows.Err()) }

func (r timedRows) Scan(dest ...any) error { return timedOut(r.Rows.Scan(dest...)) }

func (r timedRows) Values() ([]any, error) {
	values, err := r.Rows.Values()
	return values, timedOut(err)
}

type timedRow struct{ pgx.Row }

func (r timedRow) Scan(dest ...any) error { return timedOut(r.Row.Scan(dest...)) }

type timedResults struct{ pgx.BatchResults }

func (r timedResults) Exec() (pgconn.CommandTag, error) {
	tag, err := r.BatchResults.Exec()
	return tag, timedOut(err)
}

func (r timedResults) Query() (pgx.Rows, error) {
	rows, err := r.BatchResults.Query()
	return timedRows{rows}, timedOut(err)
}

func (r timedResults) QueryRow() pgx.Row { return timedRow{r.BatchResults.QueryRow()} }

func (r timedResults) Close() error { return timedOut(r.BatchResults.Close()) }
