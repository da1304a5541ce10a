package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lambda-once/once/internal/check"
)

// echo is a server that counts requests and returns their bodies.
func echo(t *testing.T, received *atomic.Int64) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		received.Add(1)
		body, err := io.ReadAll(in.Body)
		check.Nil(t, err)
		out.Header().Set("X-Path", in.URL.RequestURI())
		_, _ = out.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func closed(t *testing.T, p *Proxy) {
	t.Helper()
	t.Cleanup(func() { check.Nil(t, p.Close()) })
}

// post returns the body of the response, and whether the connection lasted.
func post(t *testing.T, url, body string) (string, bool) {
	t.Helper()
	res, err := http.Post(url+"/a?b", "text/plain", strings.NewReader(body))
	if err != nil {
		return "", false
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", res.Header.Get("X-Path"), " ", string(got)), err == nil
}

func TestHTTPRequestsHaveTheirFate(t *testing.T) {
	late := make(chan func() (*Response, error), 1)
	for name, c := range map[string]struct {
		carry    Carry
		want     string
		lasts    bool
		received int64
	}{
		"pass":   {(*Request).Send, "200 /a?b text", true, 1},
		"unsent": {func(*Request) (*Response, error) { return nil, ErrCut }, "", false, 0},
		"lost": {func(r *Request) (*Response, error) {
			_, err := r.Send()
			return nil, errors.Join(ErrCut, err)
		}, "", false, 1},
		"torn": {func(r *Request) (*Response, error) {
			res, err := r.Send()
			res.Torn = true
			return res, err
		}, "200 /a?b te", false, 1},
		"doubled": {func(r *Request) (*Response, error) {
			if _, err := r.Send(); err != nil {
				return nil, err
			}
			return r.Send()
		}, "200 /a?b text", true, 2},
		"throttled": {func(r *Request) (*Response, error) {
			return &Response{Status: 400, Body: []byte(r.Operation)}, nil
		}, "400  POST /a", true, 0},
		"changed": {func(r *Request) (*Response, error) {
			r.Body = []byte("another text")
			return r.Send()
		}, "200 /a?b another text", true, 1},
		"late": {func(r *Request) (*Response, error) { late <- r.Late(); return nil, ErrCut }, "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var received atomic.Int64
			p, err := HTTP(echo(t, &received), c.carry)
			check.Must(t, err)
			closed(t, p)
			if got, lasts := post(t, p.URL(), "text"); got != c.want || lasts != c.lasts {
				t.Errorf("got %q, lasts %v; want %q, %v", got, lasts, c.want, c.lasts)
			}
			check.Equal(t, received.Load(), c.received, "requests that the server received")
			if name != "late" {
				return
			}
			res, err := (<-late)()
			if err != nil || string(res.Body) != "text" || received.Load() != 1 {
				t.Errorf("late: %+v, %v, %d requests", res, err, received.Load())
			}
		})
	}
}

func TestHTTPNeedsAURL(t *testing.T) {
	for _, target := range []string{"", "localhost:8000", "http://"} {
		if _, err := HTTP(target, nil); err == nil {
			t.Errorf("%q is accepted", target)
		}
	}
}

// commands is a Redis server that returns each command as a bulk string.
func commands(t *testing.T, received *atomic.Int64) string {
	t.Helper()
	silent := httptest.NewServer(nil) // receives nothing
	t.Cleanup(silent.Close)
	p, err := Redis(silent.Listener.Addr().String(), func(r *Request) (*Response, error) {
		received.Add(1)
		return &Response{Body: fmt.Appendf(nil, "$%d\r\n%s\r\n", len(r.Body), r.Body)}, nil
	})
	check.Must(t, err)
	closed(t, p)
	return p.Addr()
}

func TestRedisCommandsHaveTheirFate(t *testing.T) {
	const get = "*2\r\n$3\r\nGET\r\n$5\r\na\r\nbc\r\n"
	var received atomic.Int64
	var fate Carry
	p, err := Redis(commands(t, &received), func(r *Request) (*Response, error) { return fate(r) })
	check.Must(t, err)
	closed(t, p)
	conn, err := net.Dial("tcp", p.Addr())
	check.Must(t, err)
	defer conn.Close()
	in := bufio.NewReader(conn)
	ask := func() (string, error) {
		if _, err := io.WriteString(conn, get); err != nil {
			return "", err
		}
		value, err := respValue(in)
		return string(value), err
	}
	fate = func(r *Request) (*Response, error) {
		check.Equal(t, r.Operation, "get")
		return r.Send()
	}
	want := fmt.Sprintf("$%d\r\n%s\r\n", len(get), get)
	if got, err := ask(); got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	late := make(chan func() (*Response, error), 1)
	fate = func(r *Request) (*Response, error) { late <- r.Late(); return nil, ErrCut }
	if _, err := ask(); err == nil {
		t.Error("the connection lasts")
	}
	check.Equal(t, received.Load(), 1, "commands")
	if res, err := (<-late)(); err != nil || string(res.Body) != want || received.Load() != 2 {
		t.Errorf("late: %+v, %v, %d commands", res, err, received.Load())
	}
}
