package work

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// handPostgreSQL is an INSERT and a fenced UPDATE, in the table of package postgres. A
// duplicate needs a SELECT as well, because INSERT does not return the row that it met.
func handPostgreSQL(pool *pgxpool.Pool, table string, run caller) hand {
	table = pgx.Identifier{table}.Sanitize()
	insert := "INSERT INTO " + table + " (id, status, owner, expires) VALUES ($1, 'INPROGRESS', $2, $3) ON CONFLICT (id) DO NOTHING"
	update := "UPDATE " + table + " SET status = 'COMPLETED', data = $3 WHERE id = $1 AND owner = $2 AND status = 'INPROGRESS'"
	lookup := "SELECT status, data FROM " + table + " WHERE id = $1"
	return hand{run: run, claim: func(ctx context.Context, id, owner string) (status string, data []byte, err error) {
		claimed, err := pool.Exec(ctx, insert, id, owner, tomorrow())
		if err == nil && claimed.RowsAffected() == 0 {
			err = pool.QueryRow(ctx, lookup, id).Scan(&status, &data)
		}
		return status, data, err
	}, complete: func(ctx context.Context, id, owner string, data []byte) error {
		completed, err := pool.Exec(ctx, update, id, owner, data)
		if err == nil && completed.RowsAffected() != 1 {
			err = errors.New("the claim is lost")
		}
		return err
	}}
}
