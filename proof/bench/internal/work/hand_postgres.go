package work

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// handPostgreSQL is idempotency in SQL, written by hand, in the table of package
// postgres. A duplicate needs a statement more, as INSERT does not return the row that
// it met. It takes nothing over, fingerprints nothing and stores no failure.
type handPostgreSQL struct {
	pool                   *pgxpool.Pool
	insert, update, lookup string
	run                    caller
}

func newHandPostgreSQL(pool *pgxpool.Pool, table string, run caller) handPostgreSQL {
	table = pgx.Identifier{table}.Sanitize()
	return handPostgreSQL{
		pool:   pool,
		insert: "INSERT INTO " + table + " (id, status, owner, expires) VALUES ($1, 'INPROGRESS', $2, $3) ON CONFLICT (id) DO NOTHING",
		update: "UPDATE " + table + " SET status = 'COMPLETED', data = $3 WHERE id = $1 AND owner = $2 AND status = 'INPROGRESS'",
		lookup: "SELECT status, data FROM " + table + " WHERE id = $1",
		run:    run,
	}
}

func (h handPostgreSQL) call(ctx context.Context, p payment) (receipt, error) {
	id, owner := "payment#"+p.ID, rand.Text()
	claimed, err := h.pool.Exec(ctx, h.insert, id, owner, time.Now().Add(24*time.Hour))
	if err != nil {
		return receipt{}, err
	}
	if claimed.RowsAffected() == 0 {
		return h.replay(ctx, id)
	}
	r, err := h.run(ctx, p)
	if err != nil {
		return receipt{}, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return receipt{}, err
	}
	completed, err := h.pool.Exec(ctx, h.update, id, owner, data)
	if err == nil && completed.RowsAffected() != 1 {
		err = errors.New("the claim is lost")
	}
	return r, err
}

// replay returns the result of a finished record.
func (h handPostgreSQL) replay(ctx context.Context, id string) (r receipt, err error) {
	var status string
	var data []byte
	if err := h.pool.QueryRow(ctx, h.lookup, id).Scan(&status, &data); err != nil {
		return receipt{}, err
	}
	if status == "INPROGRESS" {
		return receipt{}, errRunning
	}
	return r, json.Unmarshal(data, &r)
}
