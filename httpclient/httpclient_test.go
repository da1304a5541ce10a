package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/httpclient"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
)

var errReset = errors.New("connection reset")

// attempts stand for a service: they answer one request after the other.
type attempts struct {
	answers []func() (*http.Response, error)
	sent    []*http.Request
	bodies  []string
	times   []time.Duration // since the first
	began   time.Time
}

func (a *attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.sent == nil {
		a.began = time.Now()
	}
	body := ""
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(text)
	}
	a.sent, a.bodies, a.times = append(a.sent, r), append(a.bodies, body), append(a.times, time.Since(a.began))
	return a.answers[min(len(a.sent), len(a.answers))-1]()
}

func answer(status int, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		w := httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, status)
		return w.Result(), nil
	}
}

func fails() (*http.Response, error) { return nil, errReset }

// brokenOff is a response whose body ends early.
func brokenOff() (*http.Response, error) {
	r, err := answer(200)()
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("2"), brokenReader{}))
	return r, err
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func post(t testing.TB, next http.RoundTripper, o *httpclient.Options, change ...func(*http.Request)) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://service/payments", strings.NewReader("ten"))
	check.Must(t, err)
	for _, change := range change {
		change(r)
	}
	response, err := (&http.Client{Transport: httpclient.Transport(next, o)}).Do(r)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	check.Nil(t, err)
	check.Nil(t, response.Body.Close())
	return string(body), nil
}

func TestOnlyWhatMayHaveNoAnswerIsRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		first func() (*http.Response, error)
		sent  int
		least time.Duration
	}{
		"in progress":               {answer(409, "Retry-After", "2"), 2, 2 * time.Second},
		"a conflict of the service": {answer(409), 1, 0},
		"unavailable":               {answer(503, "Retry-After", "1"), 2, time.Second},
		"unavailable, for how long": {answer(503), 2, 50 * time.Millisecond},
		"unavailable, without wait": {answer(503, "Retry-After", "0"), 2, 50 * time.Millisecond},
		"a stored refusal":          {answer(503, "Idempotent-Replayed", "true"), 1, 0},
		"no answer of a function":   {answer(502), 2, 50 * time.Millisecond},
		"a timeout of the gateway":  {answer(504), 2, 50 * time.Millisecond},
		"a broken connection":       {fails, 2, 50 * time.Millisecond},
		"a broken answer":           {brokenOff, 2, 50 * time.Millisecond},
		"done":                      {answer(201), 1, 0},
		"malformed":                 {answer(400, "Retry-After", "1"), 1, 0},
		"reused":                    {answer(422, "Retry-After", "1"), 1, 0},
		"a failure":                 {answer(500), 1, 0},
		"too late":                  {answer(410), 1, 0},
		"for longer than allowed":   {answer(503, "Retry-After", "61"), 1, 0},
		"until a date":              {answer(503, "Retry-After", "Sat, 01 Jan 2000 00:00:07 GMT"), 2, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // from 2000-01-01 on
				a := &attempts{answers: []func() (*http.Response, error){c.first, answer(201)}}
				_, err := post(t, a, nil)
				check.Nil(t, err)
				check.Equal(t, len(a.sent), c.sent)
				for i, r := range a.sent {
					check.Equal(t, a.bodies[i], "ten")
					check.Equal(t, r.Header.Get("Idempotency-Key"), a.sent[0].Header.Get("Idempotency-Key"))
				}
				check.True(t, a.times[c.sent-1] >= c.least, a.times)
				check.Time(t, idempotent.IssuedIn(a.sent[0].Header.Get("Idempotency-Key")), a.began)
			})
		})
	}
}

func TestEachRequestHasAKeyOfItsOwn(t *testing.T) {
	a := &attempts{answers: []func() (*http.Response, error){answer(201)}}
	own := func(r *http.Request) { r.Header.Set("Idempotency-Key", "cart-7") }
	for _, change := range []func(*http.Request){func(*http.Request) {}, func(*http.Request) {}, own, func(r *http.Request) { r.Method = http.MethodGet }} {
		_, err := post(t, a, nil, change)
		check.Nil(t, err)
	}
	key := func(i int) string { return a.sent[i].Header.Get("Idempotency-Key") }
	check.Differ(t, key(0), key(1))
	check.Equal(t, key(2), "cart-7")
	check.Equal(t, key(3), "")
	_, err := post(t, a, &httpclient.Options{Header: "X-Key", NewKey: func() string { return "mine" }}, func(r *http.Request) {
		t.Cleanup(func() { check.Equal(t, r.Header.Get("X-Key"), "", "the caller's request is changed") })
	})
	check.Nil(t, err)
	check.Equal(t, a.sent[4].Header.Get("X-Key"), "mine")
}

func TestRepetitionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		o      *httpclient.Options
		answer func() (*http.Response, error)
		change func(context.Context, *http.Request) context.Context
		most   time.Duration
		sent   int // 0: many
		err    error
	}{
		"after a minute":        {nil, fails, nil, time.Minute, 0, errReset},
		"after MaxTime":         {&httpclient.Options{MaxTime: 3 * time.Second}, fails, nil, 3 * time.Second, 0, errReset},
		"with the last answer":  {nil, answer(503), nil, time.Minute, 0, nil},
		"before the deadline":   {nil, answer(409, "Retry-After", "2"), within(time.Second), 0, 1, nil},
		"when the caller stops": {nil, answer(409, "Retry-After", "2"), stopped(time.Second), time.Second, 1, context.Canceled},
		"without a second body": {nil, fails, func(ctx context.Context, r *http.Request) context.Context { r.GetBody = nil; return ctx }, 0, 1, errReset},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &attempts{answers: []func() (*http.Response, error){c.answer}}
				began := time.Now()
				_, err := post(t, a, c.o, func(r *http.Request) {
					if c.change != nil {
						*r = *r.WithContext(c.change(r.Context(), r))
					}
				})
				check.Is(t, err, c.err)
				check.True(t, time.Since(began) <= c.most, time.Since(began))
				check.True(t, len(a.sent) == c.sent || c.sent == 0 && len(a.sent) > 4, len(a.sent))
			})
		})
	}
}

func within(d time.Duration) func(context.Context, *http.Request) context.Context {
	return func(ctx context.Context, _ *http.Request) context.Context {
		ctx, cancel := context.WithTimeout(ctx, d)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
}

func stopped(after time.Duration) func(context.Context, *http.Request) context.Context {
	return func(ctx context.Context, _ *http.Request) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(after, cancel)
		return ctx
	}
}

// payments is a service that charges, behind the middleware and a proxy of TCP, which cuts
// connections before a request arrives and after its answer was made.
func payments(t *testing.T, cuts func(r *wire.Request) (*wire.Response, error), work func()) (url string, charges *atomic.Int64) {
	t.Helper()
	x, err := idempotent.New("pay", memory.New(0), nil)
	check.Must(t, err)
	charges = &atomic.Int64{}
	server := httptest.NewServer(httpapi.Middleware(x, httpapi.NoIdentity(), nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		work()
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "charge ", charges.Add(1), strings.Repeat(".", 5000)) // in chunks
	})))
	t.Cleanup(server.Close)
	proxy, err := wire.HTTP(server.URL, cuts)
	check.Must(t, err)
	t.Cleanup(func() { check.Nil(t, proxy.Close()) })
	return proxy.URL(), charges
}

func TestCutConnectionsChargeOnce(t *testing.T) {
	const clients, cuts = 40, 60
	var cut atomic.Int64
	url, charges := payments(t, func(r *wire.Request) (*wire.Response, error) {
		where := rand.N(3)
		if where == 0 || cut.Add(1) > cuts {
			return r.Send()
		}
		if where == 1 {
			_, _ = r.Send()
		}
		return nil, wire.ErrCut
	}, func() {})
	client := &http.Client{Transport: httpclient.Transport(nil, nil)}
	var answers sync.Map
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			response, err := client.Post(url, "application/json", strings.NewReader(`{"cents": 10}`))
			if err != nil {
				t.Error(err)
				return
			}
			body, err := io.ReadAll(response.Body)
			check.Nil(t, errors.Join(err, response.Body.Close()))
			check.Equal(t, response.StatusCode, 201)
			_, twice := answers.LoadOrStore(string(body), true)
			check.False(t, twice, "two requests have one answer")
		})
	}
	all.Wait()
	check.Equal(t, charges.Load(), clients)
	check.True(t, cut.Load() > cuts/2, cut.Load())
}

// The first attempt runs on when its connection is cut: the second one meets it.
func TestClientWaitsForItsFirstAttempt(t *testing.T) {
	var asked atomic.Int64
	running, done := make(chan struct{}), make(chan struct{})
	url, charges := payments(t, func(r *wire.Request) (*wire.Response, error) {
		switch asked.Add(1) {
		case 1:
			go r.Send()
			<-running
			return nil, wire.ErrCut
		case 2:
			defer close(done)
		}
		return r.Send()
	}, func() { close(running); <-done })
	response, err := (&http.Client{Transport: httpclient.Transport(nil, nil)}).Post(url, "text/plain", strings.NewReader("ten"))
	check.Must(t, err)
	check.Nil(t, response.Body.Close())
	check.Equal(t, response.StatusCode, 201)
	check.Equal(t, response.Header.Get("Idempotent-Replayed"), "true")
	check.True(t, asked.Load() >= 3, "cut, in progress, done", asked.Load())
	check.Equal(t, charges.Load(), 1)
}
