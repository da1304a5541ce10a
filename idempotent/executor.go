package idempotent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/cache"
	"github.com/lambda-once/once/idempotent/internal/flight"
	"github.com/lambda-once/once/idempotent/internal/protocol"
)

// An Executor runs the handlers of one operation, so that each key has one
// effect. It is safe for concurrent use. Make it once, when the process starts.
type Executor struct {
	operation string
	store     driver.Store
	config    Config
	times     protocol.Times
	disabled  bool
	onLambda  bool
	// cache contains encoded results, so that no two callers share one that they may change.
	cache   *cache.Cache[string, driver.Record]
	flights *flight.Group
	// transactional is the store, if it has transactions.
	transactional driver.Transactional
	// storeID tells whether a nested call is on the same store.
	storeID any
	// carried are the types of results that JSON carries, as far as calls had them.
	carried sync.Map
	// spread adds jitter to a pause, so that callers do not meet again and
	// again.
	spread func(time.Duration) time.Duration
}

// New returns the Executor of an operation. A nil config stands for all
// defaults. New reports every mistake in its arguments as a [*driver.ConfigError].
//
// The operation is the stable name of the protected work, such as
// "create-payment". It is the first part of every record's id, and part of
// every [Event]; renaming it loses the records. It has at most 255 bytes of
// UTF-8, without '#' and control characters.
//
// If the environment variable ONCE_DISABLED is true ("1", "true"), calls run
// their handler unprotected, and are observed as bypassed. No record is read or
// written. All effects happen at every call, and the store commits a
// transaction without a record. Use it in unit tests.
//
// On Lambda, New logs a warning on [slog.Default] if ONCE_DISABLED is true, or if
// the store is a [driver.Volatile] one.
func New(operation string, store driver.Store, config *Config) (*Executor, error) {
	full := config.withDefaults()
	var mistakes driver.Mistakes
	err := checkOperation(operation)
	mistakes.If(err != nil, "%w", err)
	v := reflect.ValueOf(store)
	mistakes.If(store == nil, "idempotent: the store is nil")
	mistakes.If(v.Kind() == reflect.Pointer && v.IsNil(), "idempotent: the store is a nil %T; look at the error of its constructor", store)
	transactional, _ := store.(driver.Transactional)
	mistakes.If(store != nil && full.Optimistic && transactional == nil, "idempotent: Config.Optimistic needs a store with transactions, and a %T has none", store)
	full.validate(&mistakes)
	environment := os.Getenv("ONCE_DISABLED")
	disabled, err := strconv.ParseBool(cmp.Or(environment, "false"))
	mistakes.If(err != nil, "idempotent: ONCE_DISABLED is %q, which is neither true nor false", environment)
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	if full.Observer == nil {
		full.Observer = defaultObserver(store)
	}
	x := &Executor{
		operation: operation,
		store:     store,
		config:    full,
		times: protocol.Times{
			Lease: full.Lease, ClockSkew: full.ClockSkew, Reserve: full.Reserve, Retention: full.Retention,
			AwaitPerson: full.MaxAttempts > 0 || full.ProviderMemory > 0, ProviderMemory: max(full.ProviderMemory-full.ClockSkew, 0),
		},
		transactional: transactional,
		disabled:      disabled,
		onLambda:      os.Getenv("AWS_LAMBDA_FUNCTION_NAME") != "",
		spread:        func(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) },
	}
	if x.onLambda {
		x.warnAtStart()
	}
	x.storeID = x
	if v.Comparable() {
		x.storeID = store
	}
	if full.CacheEntries > 0 {
		x.cache = cache.New[string, driver.Record](full.CacheEntries, cacheBytes)
	}
	if full.Wait > 0 {
		x.flights = flight.NewGroup()
	}
	return x, nil
}

// warnAtStart logs settings that are right in a test and wrong in a function.
func (x *Executor) warnAtStart() {
	text := ""
	if v, ok := x.store.(driver.Volatile); ok && v.Volatile() {
		text = "the records end with this process: other instances of the function do not know them, and repeat what this one has done; use another store"
	}
	if x.disabled {
		text = "ONCE_DISABLED is set: no call is protected, and each repetition has its effects again; remove the variable"
	}
	if text != "" {
		slog.Default().LogAttrs(context.Background(), slog.LevelWarn, text, slog.String("operation", x.operation))
	}
}

// Operation returns the operation's name.
func (x *Executor) Operation() string { return x.operation }

// Retention returns Config.Retention, or its default.
func (x *Executor) Retention() time.Duration { return x.config.Retention }

func checkOperation(operation string) error {
	const limit = 255
	if operation == "" {
		return &InvalidKeyError{"operation", "is empty; choose a stable name for the protected work"}
	}
	if err := checkText("operation", operation, limit, false); err != nil {
		return err
	}
	if strings.Contains(operation, "#") {
		return &InvalidKeyError{"operation", fmt.Sprintf("%q contains a '#', which separates it from the key in a record's id", operation)}
	}
	return nil
}

// cacheBytes bounds the memory of the cache of finished results.
const cacheBytes = 8 << 20

// weight returns about the bytes that a cached record takes in memory, with its entry.
func weight(r driver.Record) int {
	return 400 + 2*len(r.ID) + len(r.Data) + len(r.Fingerprint) + len(r.Owner) + len(r.Payload) + len(r.Unavailable)
}
