package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestClientsThatWouldLoseClaimsAreRefused(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ReadTimeout: time.Second})
	defer client.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	for name, c := range map[string]struct {
		client  Client
		options *Options
		reason  string
	}{
		"a ring":                   {ring, nil, "Ring"},
		"a pipeline":               {client.Pipeline(), nil, "Pipeliner"},
		"a wrapper, with replicas": {struct{ Client }{client}, &Options{Replicas: 1}, "Replicas"},
		"too long a wait":          {client, &Options{Replicas: 1, WaitTimeout: time.Second}, "ReadTimeout"},
	} {
		s, err := New(c.client, c.options)
		var invalid *driver.ConfigError
		if s != nil || !errors.As(err, &invalid) || !strings.Contains(invalid.Error(), c.reason) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// All mistakes are reported at once.
func TestNewReportsAllMistakes(t *testing.T) {
	_, err := New(nil, &Options{Replicas: -1, WaitTimeout: time.Microsecond})
	if _, ok := err.(*driver.ConfigError); !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, want := range []string{"client", "Replicas", "WaitTimeout"} {
		check.Says(t, err, want)
	}
}
