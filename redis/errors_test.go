package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/errortypes"
	"github.com/lambda-once/once/redis/redislocal"
)

// errorOf returns the error of a claim with a client that does not retry.
func errorOf(t *testing.T, o *redis.Options) error {
	t.Helper()
	o.MaxRetries, o.DialerRetries = -1, 1
	client := redis.NewClient(o)
	defer client.Close()
	_, ok, err := storeOn(t, client, nil).Create(t.Context(), claim("secret-id"), time.Now(), nil)
	check.False(t, ok)
	check.Failed(t, err)
	return err
}

func expectError(t *testing.T, err error, unavailable, throttled bool, advice string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Op != "create" {
		t.Fatalf("%T: %v", err, err)
	}
	if errors.Is(err, driver.ErrUnavailable) != unavailable || errors.Is(err, driver.ErrThrottled) != throttled ||
		!strings.Contains(e.Advice, advice) || strings.Contains(err.Error(), "secret") {
		t.Errorf("unavailable %v, throttled %v, advice %q: %v", errors.Is(err, driver.ErrUnavailable), errors.Is(err, driver.ErrThrottled), e.Advice, err)
	}
	check.Equal(t, errors.Is(err, driver.ErrDenied), advice == "access denied", "denied", err)
}

func TestErrorsOfServersAreClassified(t *testing.T) {
	primary := newServer(t, "--lua-time-limit", "1")
	admin := redis.NewClient(&redis.Options{Addr: primary.Addr(), Password: "pw", PoolSize: 1})
	defer admin.Close()
	do := func(args ...any) {
		t.Helper()
		check.Must(t, admin.Do(t.Context(), args...).Err())
	}
	check.Must(t, primary.Client().ConfigSet(t.Context(), "requirepass", "pw").Err())
	with := func(password string) *redis.Options {
		return &redis.Options{Addr: primary.Addr(), Password: password, ReadTimeout: longRead}
	}
	t.Run("no password", func(t *testing.T) {
		expectError(t, errorOf(t, with("")), false, false, "credentials")
	})
	t.Run("a wrong password", func(t *testing.T) {
		expectError(t, errorOf(t, with("wrong")), false, false, "credentials")
	})
	t.Run("no right", func(t *testing.T) {
		do("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read")
		o := with("pw")
		o.Username = "reader"
		expectError(t, errorOf(t, o), false, false, "access denied")
	})
	t.Run("another type", func(t *testing.T) {
		do("SET", "once:secret-id", "text")
		expectError(t, errorOf(t, with("pw")), false, false, "Prefix")
		do("DEL", "once:secret-id")
	})
	t.Run("another hash", func(t *testing.T) {
		do("HSET", "once:secret-id", "name", "value")
		expectError(t, errorOf(t, with("pw")), false, false, "other program")
		do("DEL", "once:secret-id")
	})
	t.Run("a busy server", func(t *testing.T) {
		slow := redis.NewClient(with("pw"))
		defer slow.Close()
		done := make(chan error, 1)
		go func() { done <- slow.Eval(context.Background(), "while true do end", nil).Err() }()
		for admin.Ping(t.Context()).Err() == nil {
			time.Sleep(time.Millisecond)
		}
		expectError(t, errorOf(t, with("pw")), true, true, "another script")
		do("SCRIPT", "KILL")
		check.Failed(t, <-done, "the script ended by itself")
	})
	t.Run("a cluster without slots", func(t *testing.T) {
		expectError(t, errorOf(t, &redis.Options{Addr: newServer(t, "--cluster-enabled", "yes", "--cluster-port", "0").Addr()}), true, false, "cluster")
	})
}

func TestErrorsOfTheNetworkAreUnavailable(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		expectError(t, errorOf(t, &redis.Options{Addr: "127.0.0.1:1"}), true, false, "reached")
	})
	t.Run("no answer", func(t *testing.T) {
		expectError(t, errorOf(t, &redis.Options{Addr: silent(t), ReadTimeout: 20 * time.Millisecond}), true, false, "reached")
	})
	t.Run("no connection left", func(t *testing.T) {
		client, _ := redislocal.NewClient(t)
		one := redis.NewClient(&redis.Options{Addr: client.Options().Addr, PoolSize: 1, PoolTimeout: time.Millisecond, MaxRetries: -1})
		defer one.Close()
		conn := one.Conn()
		defer conn.Close()
		check.Must(t, conn.Ping(t.Context()).Err())
		_, _, err := storeOn(t, one, nil).Create(t.Context(), claim("a"), time.Now(), nil)
		expectError(t, err, true, false, "PoolSize")
	})
}

// Errors that no server here produces.
func TestErrorTexts(t *testing.T) {
	for text, want := range map[string]error{
		"LOADING Redis is loading the dataset in memory":          driver.ErrUnavailable,
		"MASTERDOWN Link with MASTER is down":                     driver.ErrUnavailable,
		"TRYAGAIN Multiple keys request during rehashing of slot": driver.ErrUnavailable,
		"ASK 3999 127.0.0.1:6381":                                 driver.ErrUnavailable,
		"ERR max number of clients reached":                       driver.ErrThrottled,
		"MISCONF Redis is configured to save RDB snapshots":       driver.ErrUnavailable,
		"ERR Error running script (call to f_0): @user_script:9: -OOM command not allowed when used memory > 'maxmemory'.": driver.ErrThrottled,
	} {
		check.Is(t, error(&Error{Op: "create", Err: serverError(text)}), want, text)
	}
	for _, err := range []error{serverError("ERR unknown command"), context.Canceled, redis.ErrClosed, errNoRecord} {
		if e := error(&Error{Op: "create", Err: err}); errors.Is(e, driver.ErrUnavailable) {
			t.Errorf("%v is unavailable", err)
		}
	}
	check.Is(t, error(&Error{Err: io.ErrUnexpectedEOF}), driver.ErrUnavailable)
}

type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// silent returns the address of a server that accepts connections and answers nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// Step Functions match the name of a type, so that each error that leaves has one.
func TestEveryErrorThatLeavesHasAnExportedType(t *testing.T) {
	walked, err := errortypes.Parse(".")
	check.Must(t, err)
	const failed = "Store.fail makes it an Error"
	for _, fault := range walked.Unexplained(map[string]string{
		"readable": failed, "set": failed, "Store.ask": failed, "Store.Inspect": failed, "Store.node": failed,
	}) {
		t.Error(fault)
	}
}
