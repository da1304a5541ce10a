package seal_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
)

var errOutage = errors.New("KMS is down")

func down(context.Context) error { return errOutage }

func TestOneDataKeyServesManyResults(t *testing.T) {
	k := &kms{}
	writer, reader := dataKeys(t, k, "arn", nil), dataKeys(t, k, "arn", nil)
	for range 100 {
		b := sealed(t, writer, "secret")
		for _, s := range []driver.Sealer{writer, reader} {
			if data, err := s.Open(t.Context(), here, b); err != nil || string(data) != "secret" {
				t.Fatalf("opened %q, %v", data, err)
			}
		}
	}
	check.Equal(t, k.generations, 1)
	check.Equal(t, k.unwraps, 1)
}

func TestDataKeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kms{}
		byAge := dataKeys(t, k, "arn", &seal.DataKeyOptions{MaxAge: time.Minute})
		first := sealed(t, byAge, "first")
		time.Sleep(time.Minute - 1)
		sealed(t, byAge, "the same")
		check.Equal(t, k.generations, 1, "keys within a minute")
		time.Sleep(time.Nanosecond)
		sealed(t, byAge, "second")
		check.Equal(t, k.generations, 2, "keys after a minute")
		_, err := byAge.Open(t.Context(), here, first)
		check.Nil(t, err)
		check.Equal(t, k.unwraps, 1)
		byUses := dataKeys(t, k, "arn", &seal.DataKeyOptions{MaxUses: 3})
		for range 7 {
			sealed(t, byUses, "x")
		}
		check.Equal(t, k.generations, 2+3, "keys for 7 values with 3 uses each")
	})
}

// A key that was disabled does not open for ever where it was once unwrapped.
func TestUnwrappedKeysAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kms{}
		b := sealed(t, dataKeys(t, k, "arn", nil), "secret")
		reader := dataKeys(t, k, "arn", nil)
		for range 3 {
			_, err := reader.Open(t.Context(), here, b)
			check.Must(t, err)
			time.Sleep(25 * time.Minute)
		}
		k.decrypt = down
		check.Is(t, refused(t, reader, here, b), errOutage)
	})
}

func TestUnwrappedKeysAreBounded(t *testing.T) {
	k := &kms{}
	reader := dataKeys(t, k, "arn", &seal.DataKeyOptions{CacheKeys: 2})
	var values [3][]byte
	for i := range values {
		values[i] = sealed(t, dataKeys(t, k, "arn", nil), "x")
	}
	for _, i := range []int{0, 1, 0, 2, 0, 1} { // the fourth drops the second
		_, err := reader.Open(t.Context(), here, values[i])
		check.Must(t, err)
	}
	check.Equal(t, k.unwraps, 4, "keys unwrapped")
}

func TestFormerKeys(t *testing.T) {
	k := &kms{}
	old := sealed(t, dataKeys(t, k, "old", nil), "secret")
	moved := dataKeys(t, k, "new", &seal.DataKeyOptions{Former: []string{"old"}})
	opens(t, moved, old, "secret")
	id, _ := seal.KeyID(sealed(t, moved, "x"))
	check.Equal(t, id, "new")
	// An attacker's own key, of a KMS that would unwrap for anybody.
	before := k.unwraps
	err := refused(t, dataKeys(t, k, "new", nil), here, old)
	check.Is(t, err, seal.ErrUnknownKey)
	check.Equal(t, k.unwraps, before)
}

func TestConcurrentCallersShareARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		wait := func(context.Context) error { <-answer; return nil }
		k := &kms{generate: wait}
		writer := dataKeys(t, k, "arn", nil)
		var all sync.WaitGroup
		var b []byte
		for i := range 50 {
			all.Go(func() {
				value, err := writer.Seal(t.Context(), here, []byte("secret"))
				check.Nil(t, err)
				if i == 0 {
					b = value
				}
			})
		}
		synctest.Wait()
		answer <- struct{}{}
		all.Wait()
		k.decrypt = wait
		reader := dataKeys(t, k, "arn", nil)
		for range 50 {
			all.Go(func() {
				_, err := reader.Open(t.Context(), here, b)
				check.Nil(t, err)
			})
		}
		synctest.Wait()
		answer <- struct{}{}
		all.Wait()
		check.Equal(t, k.generations, 1)
		check.Equal(t, k.unwraps, 1)
	})
}

// The first caller may leave; the request is cancelled with the last one.
func TestCancelledCallerLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, cancelled := make(chan struct{}), 0
		k := &kms{generate: func(ctx context.Context) error {
			select {
			case <-answer:
				return nil
			case <-ctx.Done():
				cancelled++
				return ctx.Err()
			}
		}}
		s := dataKeys(t, k, "arn", nil)
		type result struct {
			name string
			err  error
		}
		results := make(chan result, 3)
		ask := func(ctx context.Context, name string) {
			_, err := s.Seal(ctx, here, nil)
			results <- result{name, err}
		}
		first, leave := context.WithCancel(t.Context())
		go ask(first, "first")
		synctest.Wait()
		go ask(t.Context(), "second")
		synctest.Wait()
		leave()
		r := <-results
		check.Equal(t, r.name, "first")
		check.Is(t, r.err, context.Canceled)
		check.Equal(t, cancelled, 0)
		answer <- struct{}{}
		r = <-results
		check.Equal(t, r.name, "second")
		check.Nil(t, r.err)
		check.Equal(t, k.generations, 1)

		// Nobody waits for another key any more.
		s = dataKeys(t, k, "arn", nil)
		last, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		ask(last, "last")
		synctest.Wait()
		r = <-results
		check.Is(t, r.err, context.DeadlineExceeded)
		check.Equal(t, cancelled, 1)
		go ask(t.Context(), "anew")
		answer <- struct{}{}
		r = <-results
		check.Nil(t, r.err)
		check.Equal(t, k.generations, 3)
	})
}

// A request that hangs does not block later callers forever.
func TestHungRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kms{generate: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		began := time.Now()
		_, err := dataKeys(t, k, "arn", nil).Seal(t.Context(), here, nil)
		check.Failed(t, err)
		check.True(t, time.Since(began) <= 10*time.Second, time.Since(began))
	})
}

func TestFailuresAreNotRemembered(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"error":  down,
		"panic":  func(context.Context) error { panic("bug") },
		"Goexit": func(context.Context) error { runtime.Goexit(); return nil },
	} {
		k := &kms{generate: fail, decrypt: fail}
		s, reader := dataKeys(t, k, "arn", nil), dataKeys(t, k, "arn", nil)
		_, err := s.Seal(t.Context(), here, nil)
		_, ok := errors.AsType[*seal.KeyError](err)
		check.True(t, ok, name)
		check.Lacks(t, err.Error(), "pay#1", name)
		k.generate = nil
		b := sealed(t, s, "secret")
		refused(t, reader, here, b)
		k.decrypt = nil
		opens(t, reader, b, "secret", name)
	}
}

// crooked returns what no KMS should.
type crooked struct{ plain, wrapped []byte }

func (c crooked) GenerateDataKey(context.Context, string) (plain, wrapped []byte, err error) {
	return c.plain, c.wrapped, nil
}
func (c crooked) Decrypt(context.Context, string, []byte) ([]byte, error) { return c.plain, nil }

func TestCrookedKMS(t *testing.T) {
	for name, k := range map[string]crooked{
		"no key": {nil, []byte("w")}, "short key": {secret(1)[:16], []byte("w")},
		"not wrapped": {secret(1), nil}, "long wrapped key": {secret(1), make([]byte, 9<<10)},
	} {
		_, err := dataKeys(t, k, "arn", nil).Seal(t.Context(), here, nil)
		check.Failed(t, err, name)
	}
	b := sealed(t, dataKeys(t, crooked{secret(1), []byte("w")}, "arn", nil), "secret")
	refused(t, dataKeys(t, crooked{plain: secret(1)[:16]}, "arn", nil), here, b)
	check.Is(t, refused(t, dataKeys(t, crooked{plain: secret(2)}, "arn", nil), here, b), seal.ErrAltered)
}

func TestDataKeysRefusesMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		kms seal.KMS
		id  string
		o   seal.DataKeyOptions
	}{
		"no KMS":          {nil, "arn", seal.DataKeyOptions{}},
		"no id":           {&kms{}, "", seal.DataKeyOptions{}},
		"long id":         {&kms{}, strings.Repeat("a", 256), seal.DataKeyOptions{}},
		"empty former id": {&kms{}, "arn", seal.DataKeyOptions{Former: []string{""}}},
		"MaxAge":          {&kms{}, "arn", seal.DataKeyOptions{MaxAge: -1}},
		"tiny MaxAge":     {&kms{}, "arn", seal.DataKeyOptions{MaxAge: time.Second - 1}},
		"MaxUses":         {&kms{}, "arn", seal.DataKeyOptions{MaxUses: -1}},
		"too many uses":   {&kms{}, "arn", seal.DataKeyOptions{MaxUses: 1<<30 + 1}},
		"CacheKeys":       {&kms{}, "arn", seal.DataKeyOptions{CacheKeys: -1}},
	} {
		_, err := seal.DataKeys(c.kms, c.id, &c.o)
		check.Failed(t, err, name)
	}
}
