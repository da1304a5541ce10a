package ui

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
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
		target = os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
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
