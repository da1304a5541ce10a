package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// KMS wraps keys with a key that it does not give away. Module kmsseal has it
// for AWS KMS. It is used by many calls at once, and its errors quote no
// secrets.
type KMS interface {
	// GenerateDataKey makes a key of 32 random bytes, and gives it plain and
	// wrapped with the named key.
	GenerateDataKey(ctx context.Context, keyID string) (plain, wrapped []byte, err error)
	// Decrypt unwraps a key. wrapped may be forged: what another key than
	// the named one has wrapped is an error, whoever can use that key.
	Decrypt(ctx context.Context, keyID string, wrapped []byte) (plain []byte, err error)
}

// DataKeyOptions say how long data keys are used. The zero value of every field
// stands for its default, and a nil *DataKeyOptions for all of them.
type DataKeyOptions struct {
	// CacheKeys is how many unwrapped keys this process keeps, the least
	// recently used go first. Default 1,000.
	CacheKeys int
	// Former are ids of other keys of the KMS whose data keys are still
	// unwrapped. Default none.
	Former []string
	// MaxAge is how long a data key seals, and how long an unwrapped one
	// opens before the KMS is asked again: for so long a key that was
	// disabled still works here. Default 1 h, at least 1 s.
	MaxAge time.Duration
	// MaxUses is how many values a data key seals. Default 1,048,576, at
	// most 2^30: random nonces allow 2^32.
	MaxUses int64
}

// DataKeys gives keys that a KMS makes and wraps: each process seals with one
// of its own for a while, and puts it, wrapped, into all that it seals. So one
// request to the KMS serves many results, and the KMS' key never leaves it.
//
// The id stands in all that is sealed, and only what names this id, or a former
// one, is opened. Give a key's ARN and not an alias: what was sealed before an
// alias moved to another key could not be opened any more. 1 to 255 bytes.
//
// Callers that need a key at the same time share one request. One that fails is
// not remembered.
func DataKeys(kms KMS, keyID string, o *DataKeyOptions) (Keys, error) {
	d := &dataKeys{kms: kms, id: keyID, maxAge: time.Hour, maxUses: 1 << 20}
	entries := 1000
	if o != nil {
		d.former = slices.Clone(o.Former)
		orElse(&d.maxAge, o.MaxAge)
		orElse(&d.maxUses, o.MaxUses)
		orElse(&entries, o.CacheKeys)
	}
	var errs []error
	for _, id := range append([]string{keyID}, d.former...) {
		if id == "" || len(id) > maxID {
			errs = append(errs, fmt.Errorf("seal: the id of a KMS key has %d bytes, not 1 to %d", len(id), maxID))
		}
	}
	if kms == nil {
		errs = append(errs, errors.New("seal: the KMS is nil"))
	}
	if d.maxAge < time.Second {
		// A key that is too old when it comes would be asked for again and again.
		errs = append(errs, fmt.Errorf("seal: DataKeyOptions.MaxAge is %v, below 1 s", d.maxAge))
	}
	if d.maxUses < 0 || d.maxUses > 1<<30 {
		errs = append(errs, fmt.Errorf("seal: DataKeyOptions.MaxUses is %d, not between 0 and 2^30", d.maxUses))
	}
	if entries < 0 {
		errs = append(errs, fmt.Errorf("seal: DataKeyOptions.CacheKeys is %d, below 0", entries))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d.unwrapped = newUnwrapped(entries, d.maxAge)
	return d, nil
}

// orElse sets a field to what an option says, if it says anything.
func orElse[T comparable](field *T, option T) {
	var zero T
	if option != zero {
		*field = option
	}
}

type dataKeys struct {
	kms     KMS
	id      string
	former  []string
	maxAge  time.Duration
	maxUses int64

	making     flights[struct{}, struct{}]
	unwrapping flights[wrappedKey, []byte]
	unwrapped  *unwrapped

	mu      sync.Mutex
	current Key
	born    time.Time
	uses    int64
}

// wrappedKey is a data key as a header has it.
type wrappedKey struct{ id, wrapped string }

// Current takes one use of the current data key, or of a new one.
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
		return none, nil // made since the caller looked
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
		return none, errors.New("seal: the KMS gave no wrapped key")
	}
	// What is sealed here is replayed here first.
	d.unwrapped.put(wrappedKey{d.id, string(wrapped)}, key.Secret)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current, d.born, d.uses = key, now(), 0
	return none, nil
}

// Find unwraps the key of something sealed.
func (d *dataKeys) Find(ctx context.Context, id string, info []byte) ([]byte, error) {
	if id != d.id && !slices.Contains(d.former, id) || len(info) == 0 {
		return nil, ErrUnknownKey
	}
	key := wrappedKey{id, string(info)}
	if secret, ok := d.unwrapped.get(key); ok {
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
		d.unwrapped.put(key, secret)
		return secret, nil
	})
}

// now is without its monotonic reading, which stops while a sandbox is frozen.
func now() time.Time { return time.Now().Round(0) }
