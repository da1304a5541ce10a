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

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/seal"
)

var errOutage = errors.New("KMS is down")

func down(context.Context) error { return errOutage }

func TestOneDataKeyServesManyResults(t *testing.T) {
	k := &kms{}
	writer, reader := dataKeys(t, k, "arn", nil), dataKeys(t, k, "arn", nil)
	for range 100 {
		b := sealed(t, writer, "secret")
		for _, s := range []idempotent.Sealer{writer, reader} {
			if data, err := s.Open(t.Context(), here, b); err != nil || string(data) != "secret" {
				t.Fatalf("opened %q, %v", data, err)
			}
		}
	}
	if k.generations != 1 || k.unwraps != 1 {
		t.Errorf("%d keys made and %d unwrapped", k.generations, k.unwraps)
	}
}

func TestDataKeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kms{}
		byAge := dataKeys(t, k, "arn", &seal.DataKeyOptions{MaxAge: time.Minute})
		first := sealed(t, byAge, "first")
		time.Sleep(time.Minute - 1)
		sealed(t, byAge, "the same")
		if k.generations != 1 {
			t.Errorf("%d keys within a minute", k.generations)
		}
		time.Sleep(time.Nanosecond)
		sealed(t, byAge, "second")
		if k.generations != 2 {
			t.Errorf("%d keys after a minute", k.generations)
		}
		if _, err := byAge.Open(t.Context(), here, first); err != nil || k.unwraps != 1 {
			t.Errorf("the first after %d requests: %v", k.unwraps, err)
		}
		byUses := dataKeys(t, k, "arn", &seal.DataKeyOptions{MaxUses: 3})
		for range 7 {
			sealed(t, byUses, "x")
		}
		if k.generations != 2+3 {
			t.Errorf("%d keys for 7 values with 3 uses each", k.generations-2)
		}
	})
}

// A key that was disabled does not open for ever where it was once unwrapped.
func TestUnwrappedKeysAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kms{}
		b := sealed(t, dataKeys(t, k, "arn", nil), "secret")
		reader := dataKeys(t, k, "arn", nil)
		for range 3 {
			if _, err := reader.Open(t.Context(), here, b); err != nil {
				t.Fatal(err)
			}
			time.Sleep(25 * time.Minute)
		}
		k.decrypt = down
		if err := refused(t, reader, here, b); !errors.Is(err, errOutage) {
			t.Error(err)
		}
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
		if _, err := reader.Open(t.Context(), here, values[i]); err != nil {
			t.Fatal(err)
		}
	}
	if k.unwraps != 4 {
		t.Errorf("%d keys unwrapped, want 4", k.unwraps)
	}
}

func TestFormerKeys(t *testing.T) {
	k := &kms{}
	old := sealed(t, dataKeys(t, k, "old", nil), "secret")
	moved := dataKeys(t, k, "new", &seal.DataKeyOptions{Former: []string{"old"}})
	if data, err := moved.Open(t.Context(), here, old); err != nil || string(data) != "secret" {
		t.Errorf("opened %q, %v", data, err)
	}
	if id, _ := seal.KeyID(sealed(t, moved, "x")); id != "new" {
		t.Errorf("sealed with %q", id)
	}
	// An attacker's own key, of a KMS that would unwrap for anybody.
	before := k.unwraps
	if err := refused(t, dataKeys(t, k, "new", nil), here, old); !errors.Is(err, seal.ErrUnknownKey) || k.unwraps != before {
		t.Errorf("%v, after %d requests", err, k.unwraps-before)
	}
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
				if err != nil {
					t.Error(err)
				}
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
				if _, err := reader.Open(t.Context(), here, b); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		answer <- struct{}{}
		all.Wait()
		if k.generations != 1 || k.unwraps != 1 {
			t.Errorf("%d keys made and %d unwrapped", k.generations, k.unwraps)
		}
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
		if r := <-results; r.name != "first" || !errors.Is(r.err, context.Canceled) || cancelled != 0 {
			t.Errorf("%+v, %d requests cancelled", r, cancelled)
		}
		answer <- struct{}{}
		if r := <-results; r.name != "second" || r.err != nil || k.generations != 1 {
			t.Errorf("%+v after %d requests", r, k.generations)
		}

		// Nobody waits for another key any more.
		s = dataKeys(t, k, "arn", nil)
		last, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		ask(last, "last")
		synctest.Wait()
		if r := <-results; !errors.Is(r.err, context.DeadlineExceeded) || cancelled != 1 {
			t.Errorf("%+v, %d requests cancelled", r, cancelled)
		}
		go ask(t.Context(), "anew")
		answer <- struct{}{}
		if r := <-results; r.err != nil || k.generations != 3 {
			t.Errorf("%+v after %d requests", r, k.generations)
		}
	})
}

// A request that hangs does not block later callers forever.
func TestHungRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kms{generate: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		began := time.Now()
		_, err := dataKeys(t, k, "arn", nil).Seal(t.Context(), here, nil)
		if err == nil || time.Since(began) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
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
		if _, ok := errors.AsType[*seal.KeyError](err); !ok || strings.Contains(err.Error(), "pay#1") {
			t.Errorf("%s: sealed, %v", name, err)
		}
		k.generate = nil
		b := sealed(t, s, "secret")
		refused(t, reader, here, b)
		k.decrypt = nil
		if data, err := reader.Open(t.Context(), here, b); err != nil || string(data) != "secret" {
			t.Errorf("%s: opened %q, %v", name, data, err)
		}
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
		if b, err := dataKeys(t, k, "arn", nil).Seal(t.Context(), here, nil); err == nil {
			t.Errorf("%s: sealed as %x", name, b)
		}
	}
	b := sealed(t, dataKeys(t, crooked{secret(1), []byte("w")}, "arn", nil), "secret")
	refused(t, dataKeys(t, crooked{plain: secret(1)[:16]}, "arn", nil), here, b)
	if err := refused(t, dataKeys(t, crooked{plain: secret(2)}, "arn", nil), here, b); !errors.Is(err, seal.ErrAltered) {
		t.Error(err)
	}
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
		if _, err := seal.DataKeys(c.kms, c.id, &c.o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
