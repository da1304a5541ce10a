package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

func TestDelayedRoundTripTakesThatMuchLonger(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			_, _ = w.Write(body)
		}
	}))
	defer server.Close()
	const by = 30 * time.Millisecond
	d, err := Delay(strings.TrimPrefix(server.URL, "http://"), by)
	check.Must(t, err)
	transport, proxy := &http.Transport{}, "http://"+d.Addr()
	client := http.Client{Transport: transport}
	for i := range 3 {
		began, body := time.Now(), strings.Repeat("x", 100_000*i)
		res, err := client.Post(proxy, "text/plain", strings.NewReader(body))
		check.Must(t, err)
		echo, err := io.ReadAll(res.Body)
		if took := time.Since(began); err != nil || string(echo) != body || took < by {
			t.Errorf("%d of %d bytes after %v, %v", len(echo), len(body), took, err)
		}
		check.Nil(t, res.Body.Close())
	}
	if err := d.Close(); err != nil { // the client's connection is open
		t.Error(err)
	}
	if _, err := client.Get(proxy); err == nil {
		t.Error("a closed proxy responds")
	}
}
