package postgres

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// The settings of PostgreSQL that end a transaction whose client has vanished. The first
// one counts from the last statement, and the second one, which is new in PostgreSQL 17,
// from the first.
const (
	idleTimeout  = "idle_in_transaction_session_timeout"
	totalTimeout = "transaction_timeout"
)

// afterInvocation is how long an open transaction may outlive its Lambda invocation. With
// the default clock skew, the lease ends a second after the invocation, and a retry takes
// over a second after that.
const afterInvocation = 2 * time.Second

// transactionTimeout returns the timeout of a transaction that begins now in a Lambda
// invocation with this end, which is zero elsewhere. 0 is none.
func (l *layout) transactionTimeout(invocationEnd, now time.Time) time.Duration {
	timeout := l.timeout
	if timeout < 0 || l.dsql {
		return 0
	}
	if !invocationEnd.IsZero() {
		left := max(invocationEnd.Sub(now), 0) + afterInvocation
		if timeout == 0 || left < timeout {
			timeout = left
		}
	}
	return timeout
}

// beginTransaction begins a transaction with a timeout, in one round trip. A shorter one of
// the connection stays in effect.
//
// The timeouts of the connection are read before, once for each connection: within the
// transaction a query would fix its snapshot, and the handler could not choose an
// isolation level any more.
func beginTransaction(ctx context.Context, conn *pgx.Conn, timeout time.Duration) (pgx.Tx, error) {
	var own map[string]int64
	if timeout > 0 {
		var err error
		if own, err = timeoutsOf(ctx, conn); err != nil {
			return nil, err
		}
	}
	return conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginQuery(timeout, own)})
}

// beginQuery returns the statements that begin a transaction with a timeout on a connection
// with these timeouts of its own.
func beginQuery(timeout time.Duration, own map[string]int64) string {
	sql := "begin"
	timeout = min(timeout, math.MaxInt32*time.Millisecond)
	millis := (timeout + time.Millisecond - 1).Milliseconds()
	for _, name := range []string{idleTimeout, totalTimeout} {
		set, exists := own[name]
		if !exists || set > 0 && set <= millis {
			continue
		}
		if set > 0 { // its timer runs from the BEGIN, and only 0 stops it
			sql += "; set local " + name + " = 0"
		}
		sql += "; set local " + name + " = " + strconv.FormatInt(millis, 10)
	}
	return sql
}

// timeoutsKey is the key of a connection's own timeouts in its custom data.
const timeoutsKey = "github.com/lambda-once/once/postgres: timeouts"

// timeoutsOf returns the timeouts that a connection has outside of transactions, in
// milliseconds. 0 is none. It contains only those that the server knows.
func timeoutsOf(ctx context.Context, conn *pgx.Conn) (map[string]int64, error) {
	data := conn.PgConn().CustomData()
	if known, ok := data[timeoutsKey].(map[string]int64); ok {
		return known, nil
	}
	timeouts := make(map[string]int64)
	rows, err := conn.Query(ctx, "SELECT name, setting::bigint FROM pg_settings WHERE name IN ('"+idleTimeout+"', '"+totalTimeout+"')", pgx.QueryExecModeExec)
	if err != nil {
		return nil, err
	}
	var name string
	var millis int64
	_, err = pgx.ForEachRow(rows, []any{&name, &millis}, func() error {
		timeouts[name] = millis
		return nil
	})
	if err == nil {
		data[timeoutsKey] = timeouts
	}
	return timeouts, err
}
