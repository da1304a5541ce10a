package ui

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/redis/redislocal"
)

// An operator sees what failed, why and since when, and no result.
func TestRecordsAreFoundAndShown(t *testing.T) {
	onStores(t, func(s *scene) {
		failed := s.claim("pay#"+strings.Repeat("ab", 32), time.Hour)
		s.change(failed, driver.Change{Status: driver.Failed, Data: []byte(`{"type":"CardDeclined","message":"Ada is poor"}`), Expires: failed.Expires,
			Ended: driver.Ending{At: time.Now(), Type: "CardDeclined", Code: "05"}})
		saga := s.claim("ship#1", -time.Hour)
		s.change(saga, driver.Change{Steps: map[string][]byte{"reserve": []byte(`=1`)}})
		b := s.open(s.start())
		b.sees("CardDeclined 1")
		b.clicks("pay")
		b.sees("CardDeclined/05")
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('details').open = true`))
		b.types("error", "CardDeclined")
		b.types("since", "24h")
		b.clicks("List")
		b.sees(failed.ID)
		b.clicks(failed.ID)
		page := b.sees("CardDeclined (code 05)")
		b.sees("Calls get the stored result, or error")
		check.Lacks(s, page, "Ada")
		check.Lacks(s, returns(b, chromedp.OuterHTML("html")), "Ada", "the page has the result")
		b.goes(b.record("ship#1"))
		b.sees("reserve, 2 bytes")
		b.sees("ended")
		b.sees("lapsed")
		check.Equal(s, b.status(b.record("pay#none")), http.StatusNotFound)

		// 12 digits, as of an error.
		b.goes(b.at + "/")
		b.do(chromedp.SendKeys(`//form[@action="find"]//input[@name="key"]`, strings.Repeat("ab", 6)))
		b.clicks("Find")
		check.Equal(s, returns(b, chromedp.Location()), b.record(failed.ID))

		shows := s.open(s.start("--data"))
		shows.goes(shows.record(failed.ID))
		shows.sees("Ada is poor")
	})
}

// A live page says what it takes, and shows what has happened.
func TestLivePageShowsWhatHasHappened(t *testing.T) {
	if !has(t) {
		return
	}
	s := onRedis(t)
	r := s.claim("pay#1", time.Hour)
	b := s.open(s.start())
	b.goes(b.record("pay#1"))
	b.clicks("Read again by itself")
	b.sees("It is read again every 5 s. That takes, in a minute: requests 12.")
	s.change(r, driver.Change{Status: driver.Completed, Data: []byte("1"), Expires: r.Expires})
	b.do(chromedp.WaitVisible(`//*[contains(text(), "Calls get the stored result")]`))
	b.clicks("Stop reading again")
	check.Lacks(t, b.sees("pay#1"), "It is read again")
}

// 100,000 records, whose hashes are copies of one.
func TestPageOfAHundredThousandRecordsIsBounded(t *testing.T) {
	if !has(t) {
		return
	}
	server := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--save", ""}})
	t.Setenv("REDISLOCAL_ADDR", server.Addr())
	s := onRedis(t)
	prefix := s.flags[3]
	first := s.claim("pay#0", -time.Hour)
	hash, err := server.Client().HGetAll(t.Context(), prefix+first.ID).Result()
	check.Must(t, err)
	const n, batch = 100_000, 5_000
	for from := 1; from < n; from += batch {
		_, err := server.Client().Pipelined(t.Context(), func(p goredis.Pipeliner) error {
			for i := from; i < min(from+batch, n); i++ {
				p.HSet(t.Context(), fmt.Sprintf("%spay#%d", prefix, i), hash)
			}
			return nil
		})
		check.Must(t, err)
	}
	b := s.open(s.start("--timeout", "5m")) // which bounds the time of a page, too
	sent := func(text string) {
		t.Helper()
		all := b.sees(text)
		found := requests.FindStringSubmatch(all)
		if found == nil {
			t.Fatal(all)
		}
		k, err := strconv.Atoi(found[1])
		check.Must(t, err)
		check.True(t, k <= 200, k, "requests")
		t.Logf("%s: %d requests", text, k)
	}
	sent(fmt.Sprintf("Looked at %d records.", n))
	b.goes(b.at + "/records?state=failed")
	sent("No such records.")
	b.goes(b.at + "/records")
	sent("The records behind these were not looked at.")
	b.clicks("Look further")
	sent("from a position on")

	// No 200 requests of its page size find digits among them, so that it asks to go on.
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('details').open = true`))
	b.do(chromedp.SendKeys(`//form[@action="find"]//input[@name="key"]`, "0123456789ab"))
	b.clicks("Find")
	sent("The records behind these were not looked at.")
	for status := int64(http.StatusOK); status == http.StatusOK; {
		status = b.clicks("Look further")
		check.True(t, status == http.StatusOK || status == http.StatusNotFound, status)
	}
	sent("no record in Redis under")

	// A page whose time is over does not say that it has seen all. Each scan of the server
	// takes 50 ms, so that no machine reads all within the 3 s.
	slow, _ := s.behind(func(r *wire.Request) (*wire.Response, error) {
		if bytes.Contains(bytes.ToLower(r.Body), []byte("scan\r\n")) {
			time.Sleep(50 * time.Millisecond)
		}
		return r.Send()
	})
	b = slow.open(slow.start("--timeout", "3s"))
	sent("The records behind these were not looked at.")
	b.goes(b.at + "/records?state=failed")
	check.Lacks(t, b.sees("The records behind these were not looked at."), "No such records")
}

// behind returns the scene with a proxy in front of its store, and the proxy's address.
func (s *scene) behind(carry wire.Carry) (_ *scene, addr string) {
	s.Helper()
	flags := slices.Clone(s.flags)
	target, start := "", wire.HTTP
	u, err := url.Parse(flags[1])
	switch check.Must(s, err); flags[0] {
	case "--postgres":
		target, start, u.RawQuery = u.Host, wire.PostgreSQL, "sslmode=disable"
	case "--redis":
		target, start, u.RawQuery = u.Host, wire.Redis, "protocol=2"
	default:
		target = endpoint()
	}
	proxy, err := start(target, carry)
	check.Must(s, err)
	s.Cleanup(func() { check.Nil(s, proxy.Close()) })
	if flags[0] == "--table" {
		return &scene{s.T, s.records, append(flags, "--endpoint", proxy.URL())}, proxy.Addr()
	}
	u.Host = proxy.Addr()
	flags[1] = u.String()
	return &scene{s.T, s.records, flags}, proxy.Addr()
}

// A page names a server that hangs, and the next page works when it answers again.
func TestStoreThatHangsIsNamedAndForgotten(t *testing.T) {
	onStores(t, func(s *scene) {
		s.Parallel()
		s.claim("pay#1", -time.Hour)
		var writesHang, hangs atomic.Bool
		through, addr := s.behind(func(r *wire.Request) (*wire.Response, error) {
			isWrite := strings.Contains(strings.ToLower(r.Operation), "update") || s.flags[0] == "--redis" && bytes.Contains(r.Body, []byte("INPROGRESS"))
			if hangs.Load() || isWrite && writesHang.Load() {
				<-r.Context.Done()
				return nil, wire.ErrCut
			}
			return r.Send()
		})
		b := through.open(through.start("--write", "--timeout", "2s"))
		b.goes(b.record("pay#1"))
		b.sees("lapsed")
		b.clicks("Release")
		writesHang.Store(true) // what was sent may arrive
		check.Equal(s, b.clicks("Release"), http.StatusGatewayTimeout)
		check.Lacks(s, b.sees("the record may have been written; inspect it"), "It is gone")
		hangs.Store(true)
		for _, at := range []string{b.record("pay#1"), b.at + "/", b.at + "/records"} {
			check.Equal(s, b.status(at), http.StatusGatewayTimeout, at)
			b.sees("no answer of " + addr + " within 2s")
		}
		writesHang.Store(false)
		hangs.Store(false)
		for _, at := range []string{b.at + "/", b.record("pay#1")} {
			check.Equal(s, b.status(at), http.StatusOK, at)
		}
		b.sees("pay#1")
	})
}

// pressing Tab reaches everything, in the order of the page.
func (b *browser) tabsTo(text string) {
	b.Helper()
	for range 80 {
		b.do(chromedp.KeyEvent(kb.Tab))
		at := returns(b, chromedp.Evaluate[string](`(e => e.matches('input,select,textarea') ? e.name : e.textContent.trim())(document.activeElement)`))
		if at == text {
			outline := returns(b, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle`))
			check.Equal(b, outline, "solid", text, "does not show that it has the focus")
			return
		}
	}
	b.Fatalf("Tab does not reach %q", text)
}

func (b *browser) enters() {
	b.Helper()
	b.lands("Enter", chromedp.KeyEvent(kb.Enter))
}

func TestKeyboardAloneIsEnough(t *testing.T) {
	if !has(t) {
		return
	}
	s := onRedis(t)
	s.claim("pay#1", time.Hour)
	b := s.open(s.start("--write"))
	b.do(chromedp.KeyEvent(kb.Tab))
	check.Equal(t, returns(b, chromedp.Evaluate[string]("document.activeElement.textContent")), "To the content")
	b.tabsTo("pay")
	b.enters()
	b.tabsTo("pay#1")
	b.enters()
	b.tabsTo("As once inspect prints it")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`//details/pre`))
	b.goes(b.record("pay#1"))
	b.tabsTo("Resolve as failed")
	b.enters()
	b.tabsTo("message")
	b.do(chromedp.KeyEvent("no"))
	b.tabsTo("Continue")
	b.enters()
	b.tabsTo("force")
	b.do(chromedp.KeyEvent(" "))
	b.tabsTo("Resolve as failed")
	b.enters()
	b.sees("OperatorError")
	check.Equal(t, s.get("pay#1").Status, driver.Failed)
}

func TestNarrowWindowNeedsNoScrollingSideways(t *testing.T) {
	if !has(t) {
		return
	}
	s := onRedis(t)
	s.sample()
	long := "pay#" + strings.Repeat("x", 300)
	s.claim(long, -time.Hour)
	b := s.open(s.start("--write"))
	b.do(chromedp.EmulateViewport(320, 600))
	for _, at := range []string{b.at + "/", b.at + "/records", b.record(long), b.at + "/act?do=respond&id=" + long[:3] + "%23" + long[4:], b.at + "/nowhere"} {
		b.goes(at)
		check.True(t, returns(b, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")) <= 320, at)
	}
}
