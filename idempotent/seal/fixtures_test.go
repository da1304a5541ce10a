package seal_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, seal.SecretBytes) }

func static(t testing.TB, current string, keys map[string][]byte) driver.Sealer {
	t.Helper()
	k, err := seal.Static(current, keys)
	check.Must(t, err)
	return seal.New(k, nil)
}

var here = driver.Place{Record: "pay#1", Slot: "result"}

func sealed(t testing.TB, s driver.Sealer, data string) []byte {
	t.Helper()
	b, err := s.Seal(t.Context(), here, []byte(data))
	check.Must(t, err)
	return b
}

// opens expects that Open returns want.
func opens(t testing.TB, s driver.Sealer, b []byte, want string, about ...any) {
	t.Helper()
	data, err := s.Open(t.Context(), here, b)
	check.Nil(t, err, about...)
	check.Equal(t, string(data), want, about...)
}

// refused expects an error of Open, and returns it.
func refused(t testing.TB, s driver.Sealer, p driver.Place, b []byte) error {
	t.Helper()
	data, err := s.Open(t.Context(), p, b)
	_, ok := errors.AsType[*seal.OpenError](err)
	check.True(t, ok)
	check.True(t, data == nil)
	return err
}

// kms is one that hands out keys by number. What it has wrapped is the number
// behind the id of the wrapping key.
type kms struct {
	generate, decrypt func(ctx context.Context) error // come first, where set

	mu                   sync.Mutex
	keys                 map[string][]byte
	generations, unwraps int
}

var errWrongKey = errors.New("another key has wrapped it")

func (k *kms) GenerateDataKey(ctx context.Context, keyID string) (plain, wrapped []byte, err error) {
	k.mu.Lock()
	k.generations++
	k.mu.Unlock()
	if k.generate != nil {
		if err := k.generate(ctx); err != nil {
			return nil, nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil {
		k.keys = map[string][]byte{}
	}
	plain, name := make([]byte, seal.SecretBytes), keyID+"/"+rand.Text()
	if _, err := rand.Read(plain); err != nil {
		return nil, nil, err
	}
	k.keys[name] = bytes.Clone(plain)
	return plain, []byte(name), nil
}

func (k *kms) Decrypt(ctx context.Context, keyID string, wrapped []byte) ([]byte, error) {
	k.mu.Lock()
	k.unwraps++
	k.mu.Unlock()
	if k.decrypt != nil {
		if err := k.decrypt(ctx); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	plain, ok := k.keys[string(wrapped)]
	if !ok || !bytes.HasPrefix(wrapped, []byte(keyID+"/")) {
		return nil, errWrongKey
	}
	return bytes.Clone(plain), nil
}

func dataKeys(t testing.TB, k seal.KMS, keyID string, o *seal.DataKeyOptions) driver.Sealer {
	t.Helper()
	keys, err := seal.DataKeys(k, keyID, o)
	check.Must(t, err)
	return seal.New(keys, nil)
}
