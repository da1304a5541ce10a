package postgres

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/postgreslocal"
)

func inALambdaFunction(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
}

// The function's sandbox is killed at its timeout, and its connections are not closed. The
// retry takes over when the lease has ended, and needs the locks of the first attempt.
func TestRetryGetsTheLocksOfAnInvocationThatVanished(t *testing.T) {
	inALambdaFunction(t)
	url := postgreslocal.NewDatabase(t)
	retry := benchOn(t, &idempotent.Config{Wait: time.Minute}, nil, poolTo(t, url))
	execute(t, retry.pool, "INSERT INTO effects VALUES ('a', 0)")
	client := newNetwork(t)
	store, err := New(poolTo(t, url, client.through), table, nil)
	check.Must(t, err)
	x := executor(t, store, nil)
	killed, dead := make(chan struct{}), make(chan struct{})
	defer func() { close(killed); <-dead }()
	vanished := make(chan bool)
	go func() {
		defer close(dead)
		for limit := time.Second; ; limit *= 2 { // until the machine is fast enough for it
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			_, err := idempotent.Do(ctx, x, theKey, in(func(ctx context.Context, tx pgx.Tx) error {
				if err := adds(ctx, tx); err != nil {
					return err
				}
				client.gone.Store(true)
				vanished <- true
				<-killed
				return errors.New("killed")
			}))
			cancel()
			if client.gone.Load() || err == nil {
				return
			}
		}
	}()
	<-vanished
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := idempotent.Do(ctx, retry.x, theKey, in(adds)); err != nil {
		t.Errorf("%T: %v", err, err)
	}
	retry.is("a", 1)
}

func TestTransactionHasTheShortestTimeout(t *testing.T) {
	const minute = 60_000
	for name, c := range map[string]struct {
		lambda      bool
		option      time.Duration
		dsql        bool
		own         string // of the connection
		least, most int64
	}{
		"elsewhere":                       {most: 0},
		"elsewhere, with one of its own":  {own: "2min", least: 2 * minute, most: 2 * minute},
		"an option":                       {option: time.Minute, least: minute, most: minute},
		"an option, and a longer one":     {option: time.Minute, own: "2min", least: minute, most: minute},
		"an option, and a shorter one":    {option: time.Minute, own: "30s", least: minute / 2, most: minute / 2},
		"Lambda":                          {lambda: true, least: 1, most: minute + 2_000},
		"Lambda, with a longer one":       {lambda: true, own: "1h", least: 1, most: minute + 2_000},
		"Lambda, with a shorter one":      {lambda: true, own: "1500ms", least: 1_500, most: 1_500},
		"Lambda, with a shorter option":   {lambda: true, option: 1_500 * time.Millisecond, least: 1_500, most: 1_500},
		"Lambda, with a longer option":    {lambda: true, option: time.Hour, least: 1, most: minute + 2_000},
		"Lambda, with a negative option":  {lambda: true, option: -1, most: 0},
		"Lambda, with the limits of DSQL": {lambda: true, dsql: true, most: 0},
	} {
		t.Run(name, func(t *testing.T) {
			if c.lambda {
				inALambdaFunction(t)
			}
			url := postgreslocal.NewDatabase(t)
			known := settingsOf(t, poolTo(t, url))
			pool := poolTo(t, url, func(config *pgxpool.Config) {
				for name := range known {
					if c.own != "" {
						config.ConnConfig.RuntimeParams[name] = c.own
					}
				}
			}, one)
			b := benchOn(t, nil, nil, pool)
			b.layout.timeout, b.layout.dsql = c.option, c.dsql
			before := settingsOf(t, pool)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for _, id := range []string{"op#1", "op#2"} {
				_, err := idempotent.Do(ctx, b.x, idempotent.Key{Record: id}, in(func(ctx context.Context, tx pgx.Tx) error {
					// The snapshot is not taken.
					if _, err := tx.Exec(ctx, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"); err != nil {
						return err
					}
					for name, millis := range settingsOf(t, tx) {
						if millis < c.least || millis > c.most {
							t.Errorf("%s is %d, want %d to %d", name, millis, c.least, c.most)
						}
					}
					return adds(ctx, tx)
				}))
				check.Nil(t, err)
			}
			for name, millis := range settingsOf(t, pool) {
				check.Equal(t, millis, before[name], name, "after the transaction")
			}
		})
	}
}

func settingsOf(t *testing.T, db querier) map[string]int64 {
	t.Helper()
	rows, err := db.Query(t.Context(), "SELECT name, setting::bigint FROM pg_settings WHERE name = ANY($1)", []string{idleTimeout, totalTimeout})
	check.Must(t, err)
	settings := make(map[string]int64)
	var name string
	var millis int64
	_, err = pgx.ForEachRow(rows, []any{&name, &millis}, func() error { settings[name] = millis; return nil })
	check.Must(t, err)
	return settings
}

func TestTransactionBeginsWithItsTimeouts(t *testing.T) {
	const idle, total = "; set local idle_in_transaction_session_timeout = ", "; set local transaction_timeout = "
	for _, c := range []struct {
		timeout time.Duration
		own     map[string]int64
		want    string
	}{
		{0, nil, "begin"},
		{time.Second, map[string]int64{idleTimeout: 0}, "begin" + idle + "1000"},
		{time.Second, map[string]int64{idleTimeout: 0, totalTimeout: 0}, "begin" + idle + "1000" + total + "1000"},
		{time.Second, map[string]int64{idleTimeout: 1000, totalTimeout: 999}, "begin"},
		{time.Second, map[string]int64{idleTimeout: 1001, totalTimeout: 2000}, "begin" + idle + "0" + idle + "1000" + total + "0" + total + "1000"},
		{1, map[string]int64{idleTimeout: 0}, "begin" + idle + "1"},
		{math.MaxInt64, map[string]int64{idleTimeout: 0}, "begin" + idle + "2147483647"},
	} {
		check.Equal(t, beginQuery(c.timeout, c.own), c.want, c.timeout, "on", c.own)
	}
}

// The handler may run until just before the end, and the transaction must outlive it.
func TestTransactionOutlivesItsInvocation(t *testing.T) {
	l, now := new(layout), time.Now()
	for left, want := range map[time.Duration]time.Duration{time.Minute: time.Minute + 2*time.Second, 0: 2 * time.Second, -time.Hour: 2 * time.Second} {
		check.Equal(t, l.transactionTimeout(now.Add(left), now), want, left, "before the end")
	}
}
