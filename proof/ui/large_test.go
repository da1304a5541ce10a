package ui

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/redis/redislocal"
)

const many = 100_000

// bounded checks that a page with a text needed at most 200 requests.
func (b *browser) bounded(text string) {
	b.Helper()
	all := b.sees(text)
	found := requests.FindStringSubmatch(all)
	if found == nil {
		b.Fatal(all)
	}
	k, err := strconv.Atoi(found[1])
	check.Must(b, err)
	check.True(b, k <= 200, k, "requests")
	b.Logf("%s: %d requests", text, k)
}

// The hashes are copies of one.
func TestPageOfAHundredThousandRecordsIsBounded(t *testing.T) {
	server := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--save", ""}})
	t.Setenv("REDISLOCAL_ADDR", server.Addr())
	s := onRedis(t)
	prefix := s.flags[3]
	first := s.claim("pay#0", -time.Hour)
	hash, err := server.Client().HGetAll(t.Context(), prefix+first.ID).Result()
	check.Must(t, err)
	const batch = 5_000
	for from := 1; from < many; from += batch {
		_, err := server.Client().Pipelined(t.Context(), func(p goredis.Pipeliner) error {
			for i := from; i < min(from+batch, many); i++ {
				p.HSet(t.Context(), fmt.Sprintf("%spay#%d", prefix, i), hash)
			}
			return nil
		})
		check.Must(t, err)
	}
	b := s.open(s.start("--timeout", "5m")) // which bounds the time of a page, too
	b.bounded(fmt.Sprintf("Looked at %d records.", many))
	b.goes(b.at + "/records?state=failed")
	b.bounded("No such records.")
	b.goes(b.at + "/records")
	b.bounded("The records behind these were not looked at.")
	b.clicks("Look further")
	b.bounded("from a position on")

	// No 200 requests of its page size find digits among them, so that it asks to go on.
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('details').open = true`))
	b.do(chromedp.SendKeys(`//form[@action="find"]//input[@name="key"]`, "0123456789ab"))
	b.clicks("Find")
	b.bounded("The records behind these were not looked at.")
	for status := int64(http.StatusOK); status == http.StatusOK; {
		status = b.clicks("Look further")
		check.True(t, status == http.StatusOK || status == http.StatusNotFound, status)
	}
	b.bounded("no record in Redis under")

	// A page whose time is over does not say that it has seen all. Each scan of the server
	// takes 50 ms, so that no machine reads all within the 3 s.
	slow, _ := s.behind(func(r *wire.Request) (*wire.Response, error) {
		if bytes.Contains(bytes.ToLower(r.Body), []byte("scan\r\n")) {
			time.Sleep(50 * time.Millisecond)
		}
		return r.Send()
	})
	b = slow.open(slow.start("--timeout", "3s"))
	b.bounded("The records behind these were not looked at.")
	b.goes(b.at + "/records?state=failed")
	check.Lacks(t, b.sees("The records behind these were not looked at."), "No such records")
}

// On PostgreSQL, the rows are copies of one.
func TestPageOfAHundredThousandRowsIsBounded(t *testing.T) {
	needsBrowser(t)
	records, flags := stores["PostgreSQL"](t)
	s := &scene{t, records, flags}
	s.claim("pay#0", -time.Hour)
	pool, err := pgxpool.New(t.Context(), flags[1])
	check.Must(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), `INSERT INTO idempotency SELECT (jsonb_populate_record(r, jsonb_build_object('id', 'pay#' || n))).*
		FROM idempotency AS r, generate_series(1, $1::int) AS n`, many-1)
	check.Must(t, err)
	b := s.open(s.start("--timeout", "5m"))
	b.bounded(fmt.Sprintf("Looked at %d records.", many))
	b.goes(b.at + "/records?state=failed")
	b.bounded("No such records.")
}
