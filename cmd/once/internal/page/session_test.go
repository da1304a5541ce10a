package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

// Each row is a request that a stranger could have a browser send, or a program of this
// machine. All else about it is right.
func TestRequestsOfOthersAreRefused(t *testing.T) {
	form := func(s *scene) url.Values {
		q := s.asks("release", "pay#1")
		q.Set("go", "yes")
		q.Set("form", s.page.form)
		return q
	}
	for name, row := range map[string]struct {
		status int
		change func(s *scene, r *http.Request) *http.Request
	}{
		"nothing is wrong": {http.StatusOK, func(_ *scene, r *http.Request) *http.Request { return r }},
		"a browser that hides the referrer": {http.StatusOK, func(_ *scene, r *http.Request) *http.Request {
			r.Header.Set("Origin", "null")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			return r
		}},
		"without a cookie": {http.StatusForbidden, func(_ *scene, r *http.Request) *http.Request { r.Header.Del("Cookie"); return r }},
		"the cookie of another session": {http.StatusForbidden, func(s *scene, r *http.Request) *http.Request {
			r.Header.Set("Cookie", s.cookie.Name+"=x")
			return r
		}},
		"a name that leads here": {http.StatusMisdirectedRequest, func(_ *scene, r *http.Request) *http.Request { r.Host = "evil.example:4711"; return r }},
		"localhost":              {http.StatusMisdirectedRequest, func(_ *scene, r *http.Request) *http.Request { r.Host = "localhost:4711"; return r }},
		"another port":           {http.StatusMisdirectedRequest, func(_ *scene, r *http.Request) *http.Request { r.Host = "127.0.0.1:80"; return r }},
		"another origin":         {http.StatusForbidden, func(_ *scene, r *http.Request) *http.Request { r.Header.Set("Origin", "http://evil.example"); return r }},
		"a server of this machine": {http.StatusForbidden, func(_ *scene, r *http.Request) *http.Request {
			r.Header.Set("Origin", "http://127.0.0.1:80")
			return r
		}},
		"without an origin": {http.StatusForbidden, func(_ *scene, r *http.Request) *http.Request { r.Header.Del("Origin"); return r }},
		"a frame without an origin": {http.StatusForbidden, func(_ *scene, r *http.Request) *http.Request {
			r.Header.Set("Origin", "null")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			return r
		}},
		"an origin that is hidden by an old browser": {http.StatusForbidden, func(_ *scene, r *http.Request) *http.Request {
			r.Header.Set("Origin", "null")
			return r
		}},
		"from another site": {http.StatusForbidden, func(_ *scene, r *http.Request) *http.Request {
			r.Header.Set("Sec-Fetch-Site", "same-site")
			return r
		}},
		"a form of another session": {http.StatusForbidden, func(s *scene, _ *http.Request) *http.Request {
			q := form(s)
			q.Set("form", "x")
			return s.request("POST", "/act", q)
		}},
		"the secret in the address": {http.StatusForbidden, func(s *scene, _ *http.Request) *http.Request {
			q := form(s)
			q.Del("form")
			return s.request("POST", "/act?form="+s.page.form, q)
		}},
		"too long a form": {http.StatusForbidden, func(s *scene, _ *http.Request) *http.Request {
			q := form(s)
			q.Set("x", strings.Repeat("x", maxBody))
			return s.request("POST", "/act", q)
		}},
		"another path": {http.StatusForbidden, func(s *scene, r *http.Request) *http.Request {
			r.URL.Path = strings.Replace(r.URL.Path, s.page.base, "/X", 1)
			return r
		}},
		"another method": {http.StatusMethodNotAllowed, func(_ *scene, r *http.Request) *http.Request { r.Method = "PUT"; return r }},
		"a form as an address": {http.StatusOK, func(s *scene, _ *http.Request) *http.Request { // which asks, and does nothing
			q := form(s)
			q.Set("id", "pay#1")
			return s.request("GET", "/act?"+q.Encode(), nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, Config{Write: true})
			s.claim("pay#1", -time.Hour)
			r := s.request("POST", "/act", form(s))
			r.AddCookie(s.cookie)
			if changed := row.change(s, r); changed != r {
				r = changed
				r.AddCookie(s.cookie)
			}
			w := s.send(r, nil)
			check.Equal(t, w.Code, row.status, w.Body)
			got, err := s.records.Get(t.Context(), "pay#1")
			check.Must(t, err)
			written := row.status == http.StatusOK && r.Method == "POST"
			check.Equal(t, got.Owner == "", written, "it is released")
		})
	}
}

// A program that looks at links before a person does sends HEAD, and a guess is no token.
func TestTokenWorksOnceAndForOneThatIsRight(t *testing.T) {
	p := New(Config{}, host)
	s := &scene{T: t, page: p}
	for _, method := range []string{"HEAD", "POST"} {
		check.Equal(t, s.send(s.request(method, p.Start(), nil), nil).Code, http.StatusForbidden, method)
	}
	for _, token := range []string{"", "x", p.Start() + "x"} {
		check.Equal(t, s.send(s.request("GET", "http://"+host+"/?token="+token, nil), nil).Code, http.StatusForbidden, token)
	}
	check.Equal(t, s.send(s.request("GET", p.Start(), nil), nil).Code, http.StatusSeeOther)
	again := s.send(s.request("GET", p.Start(), nil), nil)
	check.Equal(t, again.Code, http.StatusForbidden, "the second time")
	check.Equal(t, len(again.Result().Cookies()), 0, "the second time")
}

func TestCookieIsForThisPageAlone(t *testing.T) {
	s := newScene(t, Config{})
	check.True(t, s.cookie.HttpOnly)
	check.Equal(t, s.cookie.SameSite, http.SameSiteStrictMode)
	check.Equal(t, s.cookie.Path, s.page.base+"/", "servers at other ports get it")
	check.Lacks(t, s.page.Start(), s.page.base)
	check.Equal(t, s.cookie.Domain, "")
	check.Equal(t, s.cookie.Name, "once-4711")
	check.True(t, s.cookie.Value != "" && !strings.Contains(s.page.Start(), s.cookie.Value))
}

// Also what is refused has them.
func TestEveryResponseHasTheHeaders(t *testing.T) {
	s := newScene(t, Config{})
	for target, cookie := range map[string]*http.Cookie{"/": s.cookie, "/style.css": s.cookie, "/nowhere": s.cookie, "/record?id=x": s.cookie, "http://" + host + "/?token=x": nil, "/records": nil} {
		h := s.send(s.request("GET", target, nil), cookie).Header()
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		} {
			check.Equal(t, h.Get(name), want, target, name)
		}
	}
}

// The page has no script at all, and no style in its text: the policy would refuse both.
func TestPagesHaveNoScriptAndNoStyle(t *testing.T) {
	s := newScene(t, Config{Write: true})
	s.claim("pay#1", -time.Hour)
	for _, target := range []string{"/", "/records", "/record?id=pay%231", "/act?do=fail&id=pay%231", "/nowhere"} {
		w := s.send(s.request("GET", target, nil), s.cookie)
		for _, part := range []string{"<script", "<style", "style=", "javascript:", " onclick", " onload", " onsubmit"} {
			check.Lacks(t, w.Body.String(), part, target)
		}
	}
}

// Ids are what users choose. Browsers show what a text contains.
func TestTextsAreEscaped(t *testing.T) {
	s := newScene(t, Config{Write: true, Data: true})
	const bad = `"><img src=x onerror=alert(1)>`
	s.claim("pay#"+bad, -time.Hour)
	s.claim("<b>#1", -time.Hour)
	r := s.claim("pay#done", time.Hour)
	s.change(r, driver.Change{Status: driver.Completed, Data: []byte(`"<script>"`), Expires: r.Expires})
	q := url.QueryEscape
	for _, target := range []string{"/", "/records", "/record?id=" + q("pay#"+bad), "/record?id=" + q(bad), "/record?id=pay%23done", "/act?do=release&id=" + q("pay#"+bad),
		"/records?operation=" + q(bad) + "&error=" + q(bad) + "&since=" + q(bad), "/?after=" + q(bad), "/act?do=" + q(bad)} {
		out := s.send(s.request("GET", target, nil), s.cookie).Body.String()
		check.Lacks(t, out, "<img", target)
		check.Lacks(t, out, "<script", target)
		check.Lacks(t, out, "<b>", target)
	}
}

func TestPageOnlyReadsUnlessItMayWrite(t *testing.T) {
	s := newScene(t, Config{})
	s.claim("pay#1", -time.Hour)
	check.Lacks(t, s.get(http.StatusOK, "/record?id=pay%231"), "/act?")
	for _, a := range actions {
		check.Contains(t, s.get(http.StatusForbidden, "/act?do="+a.Name+"&id=pay%231"), "start once ui with --write")
		check.Contains(t, s.post(http.StatusForbidden, "/act", url.Values{"do": {a.Name}, "go": {"yes"}}), "start once ui with --write")
	}
}
