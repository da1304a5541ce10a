// Package ui drives the page of once ui in a real Chromium, beside real stores: what a browser
// sends and refuses is not what a client of package http does.
package ui

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/notrun"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/postgres"
	"github.com/lambda-once/once/redis"
	"github.com/lambda-once/once/redis/redislocal"
)

// command is the compiled command, and chromium the browser's, if there is one.
var command, chromium string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error // the functions of other tests are compiled in the same way, and once
	if command, err = lambdaruntime.Build(context.Background(), "../../cmd/once", "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(filepath.Dir(command))
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = path
		}
	}
	withRedis := serving.Tests(func() int {
		defer func() { stopping() }()
		return redislocal.Main(m, nil)
	})
	withPostgreSQL := serving.Tests(func() int { return postgreslocal.Main(withRedis) })
	return dynamodblocal.Main(withPostgreSQL)
}

// stores are all stores, each with the command's flags for it.
var stores = map[string]func(t *testing.T) (driver.Operable, []string){
	"DynamoDB": func(t *testing.T) (driver.Operable, []string) {
		client, table := dynamodblocal.NewTable(t)
		store, err := dynamo.New(client, table, nil)
		check.Must(t, err)
		return store, []string{"--table", table}
	},
	"PostgreSQL": func(t *testing.T) (driver.Operable, []string) {
		at := postgreslocal.NewDatabase(t)
		pool, err := pgxpool.New(t.Context(), at)
		check.Must(t, err)
		t.Cleanup(pool.Close)
		check.Must(t, postgres.CreateTable(t.Context(), pool, "idempotency", nil))
		store, err := postgres.New(pool, "idempotency", nil)
		check.Must(t, err)
		return store, []string{"--postgres", at}
	},
	"Redis": openRedis,
}

func openRedis(t *testing.T) (driver.Operable, []string) {
	client, prefix := redislocal.NewClient(t)
	store, err := redis.New(client, &redis.Options{Prefix: prefix})
	check.Must(t, err)
	return store, []string{"--redis", "redis://" + client.Options().Addr, "--key-prefix", prefix}
}

// scene is a store, and once ui on it.
type scene struct {
	*testing.T
	records driver.Operable
	flags   []string
}

// needsBrowser skips a test where there is none.
func needsBrowser(t *testing.T) {
	if chromium == "" {
		notrun.Say(t, "there is no chromium")
		t.SkipNow()
	}
}

// onStores runs a test on each store.
func onStores(t *testing.T, test func(s *scene)) {
	needsBrowser(t)
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			records, flags := open(t)
			test(&scene{t, records, flags})
		})
	}
}

func onRedis(t *testing.T) *scene {
	needsBrowser(t)
	records, flags := openRedis(t)
	return &scene{t, records, flags}
}

// claim stores the record of a claim whose lease ends after so long, or has ended.
func (s *scene) claim(id string, lease time.Duration) driver.Record {
	s.Helper()
	r := driver.Record{ID: id, Status: driver.InProgress, Owner: "owner of " + id, Attempt: 1, Fingerprint: "f1", Began: time.Now().Add(-2 * time.Hour),
		Lease: time.Now().Add(lease), Expires: time.Now().Add(24 * time.Hour)}
	_, ok, err := s.records.Create(s.Context(), r, time.Time{}, nil)
	check.Must(s, err)
	check.True(s, ok, id)
	return r
}

func (s *scene) change(r driver.Record, c driver.Change) {
	s.Helper()
	_, ok, err := s.records.Change(s.Context(), driver.Fence{ID: r.ID, Owner: r.Owner}, c)
	check.Must(s, err)
	check.True(s, ok, r.ID)
}

func (s *scene) get(id string) driver.Record {
	s.Helper()
	r, err := s.records.Get(s.Context(), id)
	check.Must(s, err)
	return r
}

// start starts once ui, and returns the address that it prints. At its end the test stops it
// as Ctrl-C does, and it has said nothing of a record.
func (s *scene) start(flags ...string) (address string) {
	s.Helper()
	cmd := exec.Command(command, append(append([]string{"ui"}, s.flags...), flags...)...)
	out, err := cmd.StdoutPipe()
	check.Must(s, err)
	var told bytes.Buffer
	cmd.Stderr = &told
	check.Must(s, cmd.Start())
	lines := bufio.NewReader(out)
	address, err = lines.ReadString('\n')
	s.Cleanup(func() {
		check.Nil(s, cmd.Process.Signal(syscall.SIGTERM))
		rest, err := lines.ReadString(0)
		check.Equal(s, rest, "", err)
		check.Nil(s, cmd.Wait(), "once ui")
		check.Equal(s, told.String(), "open this address, which works once; Ctrl-C ends it\n", "once ui says more")
	})
	check.Must(s, err)
	return strings.TrimSpace(address)
}

// windows returns the context of the browser of all tests, which starts with the first one.
func windows(t testing.TB) context.Context {
	t.Helper()
	starting.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.Flag("headless", "new"), chromedp.Flag("disable-dev-shm-usage", true))
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		all, stopFirst := chromedp.NewContext(ctx)
		started, stopping = all, func() { stopFirst(); stop() }
		check.Must(t, chromedp.Do(started))
	})
	return started
}

var (
	starting sync.Once
	started  context.Context
	stopping = func() {}
)

// browser is a window of Chromium with cookies of its own.
type browser struct {
	*scene
	ctx context.Context
	// at is the address behind the token.
	at string
}

// open opens the address in a new window.
func (s *scene) open(address string) *browser {
	s.Helper()
	ctx, stop := chromedp.NewContext(windows(s), chromedp.WithNewBrowserContext())
	s.Cleanup(stop)
	check.Must(s, chromedp.Do(ctx))
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute) // a guard against a hang
	s.Cleanup(stop)
	u, err := url.Parse(address)
	check.Must(s, err)
	b := &browser{s, ctx, "http://" + u.Host}
	b.goes(address)
	if at := returns(b, chromedp.Location()); at != address {
		b.at = strings.TrimSuffix(at, "/")
	}
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	check.Must(b, chromedp.Do(b.ctx, actions...))
}

// returns runs an action that returns a value.
func returns[T any](b *browser, a chromedp.Action[T]) T {
	b.Helper()
	got, err := chromedp.Run(b.ctx, a)
	check.Must(b, err)
	return got
}

func (b *browser) goes(address string) {
	b.Helper()
	b.do(chromedp.Navigate(address))
}

// sees returns the page, which contains a text.
func (b *browser) sees(text string) string {
	b.Helper()
	all := returns(b, chromedp.Text("body"))
	check.Contains(b, all, text)
	return all
}

// clicks follows a link or presses a button with a text, and returns the status of the page
// behind it.
func (b *browser) clicks(text string) int64 {
	b.Helper()
	return b.lands(text, chromedp.Click(fmt.Sprintf(`//main//*[self::a or self::button][normalize-space()=%q]`, text)))
}

// status returns that of the page at an address.
func (b *browser) status(address string) int64 {
	b.Helper()
	return b.lands(address, chromedp.Navigate(address))
}

func (b *browser) lands(by string, actions ...chromedp.Action[chromedp.Void]) int64 {
	b.Helper()
	response, err := chromedp.RunResponse(b.ctx, actions...)
	check.Must(b, err, by)
	return response.Status
}

func (b *browser) types(name, text string) {
	b.Helper()
	b.do(chromedp.SendKeys(fmt.Sprintf(`//main//form//*[@name=%q and not(@type="hidden")]`, name), text))
}

func (b *browser) cookies() []*network.Cookie {
	b.Helper()
	got, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{})
	check.Must(b, err)
	return got.Cookies
}

// record is the address of a record.
func (b *browser) record(id string) string {
	return b.at + "/record?" + url.Values{"id": {id}}.Encode()
}

var requests = regexp.MustCompile(`Sent to the store for this page: requests (\d+)`)
