package ui

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lambda-once/once/internal/check"
)

func TestAddressOpensOneSession(t *testing.T) {
	s := onRedis(t)
	s.claim("pay#secret", -time.Hour)
	address := s.start()
	_, token, _ := strings.Cut(address, "token=")
	b := s.open(address)
	b.sees("read-only")
	check.Lacks(t, b.at, token, "the token stays in the address")
	history := returns(b, chromedp.NavigationEntries())
	for _, entry := range history.Entries {
		check.Lacks(t, entry.URL, token, "the history has the token")
	}
	all := b.cookies()
	check.True(t, len(all) == 1 && all[0].Session, "it outlives the browser", all)
	check.Equal(t, returns(b, chromedp.Evaluate[string]("document.cookie")), "")

	check.Lacks(t, s.open(address).sees("was used before"), "pay")
	check.Equal(t, b.status(b.record("pay#secret")), http.StatusOK, "the session goes on")
}

// A page of another server, whose visitor has a session here, sends its forms with the cookie
// if it is on this machine, too.
func TestPagesOfOtherOriginsChangeAndReadNothing(t *testing.T) {
	s := onRedis(t)
	s.claim("pay#1", -time.Hour)
	b := s.open(s.start("--write"))
	b.goes(b.record("pay#1"))
	b.clicks("Release")
	// What no other page can know.
	secret := func(name string) string {
		return returns(b, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector('[name=%s]').value", name)))
	}
	form, shown := secret("form"), secret("shown")
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		check.Lacks(t, r.Header.Get("Cookie"), "once", "another server of this machine gets the cookie")
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/frame" {
			fmt.Fprintf(w, `<iframe src="%s/" onload="document.title='loaded'"></iframe>`, b.at)
			return
		}
		w.Header().Set("Referrer-Policy", r.URL.Query().Get("policy"))
		fmt.Fprintf(w, `<form method="post" action="%s/act"><input name="form" value="%s"><input name="shown" value="%s"><input name="id" value="pay#1"><input name="do" value="release"><button name="go" value="yes">Win</button></form>`, b.at, form, shown)
	}))
	defer evil.Close()
	elsewhere := strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)
	for _, from := range []string{evil.URL, elsewhere} {
		for _, policy := range []string{"no-referrer", "unsafe-url"} {
			b.goes(from + "/?policy=" + policy)
			check.Equal(t, b.lands(from, chromedp.Click(`//button`)), http.StatusForbidden, from, policy)
			check.Equal(t, s.get("pay#1").Owner, "owner of pay#1", from, policy)
		}
		b.goes(from + "/frame")
		b.do(chromedp.WaitReady(`//iframe`))
		check.Lacks(t, returns(b, chromedp.Evaluate[string]("(() => { try { return document.querySelector('iframe').contentDocument.body.innerText } catch { return '' } })()")), "pay", "a frame shows the page")
		read := returns(b, chromedp.Evaluate[string](fmt.Sprintf("fetch(%q, {credentials: 'include'}).then(r => r.text(), () => 'refused')", b.at+"/"), chromedp.EvalAwaitPromise))
		check.Equal(t, read, "refused", from)
	}
	// The same form from its own page is done.
	b.goes(b.record("pay#1"))
	b.clicks("Release")
	b.clicks("Release")
	check.Equal(t, s.get("pay#1").Owner, "")
}

// The policy of the page refuses scripts that something else has brought in.
func TestPageRunsNoScript(t *testing.T) {
	s := onRedis(t)
	s.claim(`pay#"><img src=x onerror=document.title=1><script>document.title=2</script>`, -time.Hour)
	b := s.open(s.start("--write", "--data"))
	b.goes(b.at + "/records")
	b.sees("<script>")
	b.do(chromedp.Click(`//td/a`))
	b.do(chromedp.WaitVisible(`//ol[@class="life"]`))
	check.Equal(t, returns(b, chromedp.Title()), "Record · once")
	got := returns(b, chromedp.Evaluate[string](`new Promise(done => {
		document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective))
		document.body.insertAdjacentHTML('beforeend', '<b onclick="document.title=3">x</b>')
		document.querySelector('body > b').click()
		setTimeout(() => done(document.title), 20000)
	})`, chromedp.EvalAwaitPromise))
	check.Equal(t, got, "script-src-attr")
}
