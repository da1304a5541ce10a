package idempotent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/internal/cache"
	"github.com/lambda-once/once/idempotent/internal/flight"
)

// Executor runs handlers of one operation so that each key has one effect. It
// is safe for concurrent use, and made once, at the start of the process.
type Executor struct {
	operation string
	store     driver.Store
	config    Config
	disabled  bool
	onLambda  bool
	cache     *cache.Cache
	flights   *flight.Group
	// transactional is the store, if it is that.
	transactional driver.Transactional
	// storeID tells nested calls on the same store from those on others.
	storeID any
	// spread makes pauses differ between callers that would otherwise meet
	// again and again.
	spread func(time.Duration) time.Duration
}

// New makes the Executor of an operation.
//
// The operation is the stable name of what is protected, such as
// "create-payment": the first part of every record's id, and part of every
// [Event]. Renaming it loses the records. At most 255 bytes of UTF-8,
// without '#' and control characters.
//
// A nil config stands for all defaults. Every mistake in it is reported here as a
// [*ConfigError], not at the first call.
//
// If the environment variable ONCE_DISABLED is true ("1", "true"), calls of
// this Executor run their handler unprotected: no record is read or written,
// and the call is observed as bypassed. All effects of the handler happen, at
// every call. A transaction is one of them: the store commits it, without a
// record. It is for unit tests.
func New(operation string, store driver.Store, config *Config) (*Executor, error) {
	full := config.withDefaults()
	disabled, err := disabledByEnvironment()
	if err := errors.Join(checkOperation(operation), checkStore(store, full.Optimistic), full.validate(), err); err != nil {
		return nil, &ConfigError{Err: err}
	}
	x := &Executor{
		operation: operation,
		store:     store,
		config:    full,
		disabled:  disabled,
		onLambda:  os.Getenv("AWS_LAMBDA_FUNCTION_NAME") != "",
		spread:    func(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) },
	}
	x.transactional, _ = store.(driver.Transactional)
	x.storeID = x
	if reflect.ValueOf(store).Comparable() {
		x.storeID = store
	}
	if full.CacheEntries > 0 {
		x.cache = cache.New(full.CacheEntries, full.CacheBytes)
	}
	if full.Wait > 0 {
		x.flights = flight.NewGroup()
	}
	return x, nil
}

func checkOperation(operation string) error {
	const limit = 255
	if operation == "" {
		return &InvalidKeyError{"operation", "is empty; give what is protected a stable name"}
	}
	if err := checkText("operation", operation, limit, false); err != nil {
		return err
	}
	if strings.Contains(operation, "#") {
		return &InvalidKeyError{"operation", fmt.Sprintf("%q has a '#', which ends its part of a record's id", operation)}
	}
	return nil
}

func checkStore(store driver.Store, optimistic bool) error {
	if store == nil {
		return errors.New("idempotent: the store is nil")
	}
	if _, ok := store.(driver.Transactional); optimistic && !ok {
		return fmt.Errorf("idempotent: Config.Optimistic is for transactions, and a %T has none", store)
	}
	return nil
}

func disabledByEnvironment() (bool, error) {
	value := os.Getenv("ONCE_DISABLED")
	if value == "" {
		return false, nil
	}
	disabled, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("idempotent: ONCE_DISABLED is %q, neither true nor false", value)
	}
	return disabled, nil
}
