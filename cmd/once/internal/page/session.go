package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
)

// A session belongs to one person and one browser. Everyone with an account on this machine can
// connect to the port, and every page that the browser shows can send requests to it. So each
// request needs a secret, which a page of a different origin cannot read.
type session struct {
	host string // that a browser asks for, and no name that leads here
	// base begins the paths of the pages. Browsers send the cookies of a host to all of its
	// ports, and so to each server of this machine: only a path that no other one knows keeps
	// the cookie from them.
	base string

	mu     sync.Mutex
	token  string // of the address, once; "" afterwards
	cookie string
	form   string // in each form, which other origins cannot read
}

func newSession(host string) *session {
	return &session{host: host, base: "/" + rand.Text(), token: rand.Text(), cookie: rand.Text(), form: rand.Text()}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (s *session) exchange(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !same(token, s.token) {
		return false
	}
	s.token = ""
	return true
}

// cookieName has the port, so that two sessions of a browser can be told apart.
func (s *session) cookieName() string { return "once-" + s.host[len("127.0.0.1:"):] }

// isOwn reports whether a request that acts comes from a page of this origin. Under
// Referrer-Policy: no-referrer, browsers send the Origin null with a form, and
// Sec-Fetch-Site alone tells from where it is.
func (s *session) isOwn(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	return origin == "http://"+s.host && (site == "" || site == "same-origin") || origin == "null" && site == "same-origin"
}

var headers = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// maxBody is more than a record of DynamoDB may have.
const maxBody = 1 << 20

// guard serves only requests of the session. A refusal is plain text without a detail.
func (s *session) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		cookie, err := r.Cookie(s.cookieName())
		switch known := err == nil && same(cookie.Value, s.cookie); {
		case r.Host != s.host: // a name of another origin may be made to lead here
			http.Error(w, "This is not the address of once ui.", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, "There is no such method.", http.StatusMethodNotAllowed)
		case r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has("token"):
			if !s.exchange(r.URL.Query().Get("token")) {
				http.Error(w, "The token is wrong, or was used before. Start once ui again for a new one.", http.StatusForbidden)
				return
			}
			http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: s.cookie, Path: s.base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, s.base+"/", http.StatusSeeOther)
		case !known || !strings.HasPrefix(r.URL.Path, s.base+"/"):
			http.Error(w, "Open the address that once ui has printed. If this browser has opened it already, load this page again.", http.StatusForbidden)
		case r.Method == http.MethodPost && !s.isOwn(r):
			http.Error(w, "The form is not of this page.", http.StatusForbidden)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			if r.Method == http.MethodPost && (r.ParseForm() != nil || !same(r.PostForm.Get("form"), s.form)) {
				http.Error(w, "The form is too long, or not of this session.", http.StatusForbidden)
				return
			}
			http.StripPrefix(s.base, next).ServeHTTP(w, r)
		}
	})
}
