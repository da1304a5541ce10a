package seal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/cache"
)

// A KMS wraps data keys with a key that never leaves it. Module kmsseal
// implements it for AWS KMS. Implementations are safe for concurrent use, and
// their errors quote no secrets.
type KMS interface {
	// GenerateDataKey generates a key of 32 random bytes. It returns the key
	// in plain and wrapped with the named key.
	GenerateDataKey(ctx context.Context, keyID string) (plain, wrapped []byte, err error)
	// Decrypt unwraps a key. wrapped may be forged. Decrypt returns an error
	// if a key other than the named one wrapped it.
	Decrypt(ctx context.Context, keyID string, wrapped []byte) (plain []byte, err error)
}

// DataKeyOptions are the options of [DataKeys]. A field with its zero value, or a
// nil *DataKeyOptions, stands for the defaults.
type DataKeyOptions struct {
	// CacheKeys is the number of unwrapped keys that this process caches. The
	// least recently used ones are evicted first. Default 1,000.
	CacheKeys int
	// Former is the list of IDs of other KMS keys whose data keys are still
	// unwrapped. Default none.
	Former []string
	// MaxAge is the time for which a data key seals, and an unwrapped one
	// opens, without a request to the KMS. A disabled key still works here for
	// so long. Default 1 h, at least 1 s.
	MaxAge time.Duration
	// MaxUses is the number of values that a data key seals. Default
	// 1,048,576, at most 2^30: random nonces allow 2^32.
	MaxUses int64
}

// DataKeys returns keys that a KMS generates and wraps. Each process seals with a
// data key of its own, and stores it, wrapped, in every sealed value. One request
// to the KMS therefore serves many results.
//
// keyID has 1 to 255 bytes and is part of every sealed value. Only values with
// this ID or a former one can be opened. Pass the ARN of a key and not an alias:
// if an alias moves to a new key, older values can no longer be opened.
//
// Callers that need a key at the same time share one request. A failed request
// is not cached. Wrong arguments are a [*driver.ConfigError].
func DataKeys(kms KMS, keyID string, o *DataKeyOptions) (Keys, error) {
	d := &dataKeys{kms: kms, id: keyID, maxAge: time.Hour, maxUses: 1 << 20}
	entries := 1000
	if o != nil {
		d.former = slices.Clone(o.Former)
		d.maxAge = cmp.Or(o.MaxAge, d.maxAge)
		d.maxUses = cmp.Or(o.MaxUses, d.maxUses)
		entries = cmp.Or(o.CacheKeys, entries)
	}
	var mistakes driver.Mistakes
	for _, id := range append([]string{keyID}, d.former...) {
		mistakes.If(id == "" || len(id) > maxID, "seal: the ID of a KMS key has %d bytes, want 1 to %d", len(id), maxID)
	}
	mistakes.If(kms == nil, "seal: the KMS is nil")
	// A key that is too old on arrival would be requested in a loop.
	mistakes.If(d.maxAge < time.Second, "seal: DataKeyOptions.MaxAge is %v, less than 1 s", d.maxAge)
	mistakes.If(d.maxUses < 0 || d.maxUses > 1<<30, "seal: DataKeyOptions.MaxUses is %d, want 0 to 2^30", d.maxUses)
	mistakes.If(entries < 0, "seal: DataKeyOptions.CacheKeys is %d, less than 0", entries)
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	d.unwrapped = cache.New[wrappedKey, []byte](entries, 0)
	return d, nil
}

type dataKeys struct {
	kms     KMS
	id      string
	former  []string
	maxAge  time.Duration
	maxUses int64

	making     flights[struct{}, struct{}]
	unwrapping flights[wrappedKey, []byte]
	unwrapped  *cache.Cache[wrappedKey, []byte]

	mu      sync.Mutex
	current Key
	born    time.Time
	uses    int64
}

// wrappedKey is a data key as stored in a header.
type wrappedKey struct{ id, wrapped string }

// Current returns the current data key, or a new one, and counts the use.
func (d *dataKeys) Current(ctx context.Context) (Key, error) {
	for {
		if key, ok := d.take(); ok {
			return key, nil
		}
		if _, err := d.making.do(ctx, struct{}{}, d.make); err != nil {
			return Key{ID: d.id}, err
		}
	}
}

func (d *dataKeys) take() (Key, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spent() {
		return Key{}, false
	}
	d.uses++
	return d.current, true
}

func (d *dataKeys) spent() bool {
	return d.current.Secret == nil || d.uses >= d.maxUses || now().Sub(d.born) >= d.maxAge
}

func (d *dataKeys) make(ctx context.Context) (none struct{}, _ error) {
	d.mu.Lock()
	spent := d.spent()
	d.mu.Unlock()
	if !spent {
		return none, nil // a call after ours has made one
	}
	plain, wrapped, err := d.kms.GenerateDataKey(ctx, d.id)
	if err != nil {
		return none, err
	}
	key := Key{ID: d.id, Info: bytes.Clone(wrapped), Secret: bytes.Clone(plain)}
	if err := key.check(); err != nil {
		return none, err
	}
	if len(wrapped) == 0 {
		return none, errors.New("seal: the KMS returned no wrapped key")
	}
	// This process is probably the first to replay its own values.
	d.remember(wrappedKey{d.id, string(wrapped)}, key.Secret)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current, d.born, d.uses = key, now(), 0
	return none, nil
}

// Find unwraps the key of a sealed value.
func (d *dataKeys) Find(ctx context.Context, id string, info []byte) ([]byte, error) {
	if id != d.id && !slices.Contains(d.former, id) || len(info) == 0 {
		return nil, ErrUnknownKey
	}
	key := wrappedKey{id, string(info)}
	if secret, ok := d.unwrapped.Get(key, now()); ok {
		return secret, nil
	}
	return d.unwrapping.do(ctx, key, func(ctx context.Context) ([]byte, error) {
		plain, err := d.kms.Decrypt(ctx, id, []byte(key.wrapped))
		if err != nil {
			return nil, err
		}
		if err := (Key{ID: id, Secret: plain}).check(); err != nil {
			return nil, err
		}
		secret := bytes.Clone(plain)
		d.remember(key, secret)
		return secret, nil
	})
}

// remember caches an unwrapped key.
func (d *dataKeys) remember(key wrappedKey, secret []byte) {
	d.unwrapped.Put(key, secret, 0, now().Add(d.maxAge))
}

// now returns the time without its monotonic reading, which stops while a
// sandbox is frozen.
func now() time.Time { return time.Now().Round(0) }
