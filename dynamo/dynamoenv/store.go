package dynamoenv

import (
	"os"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/emf"
)

// A Store is a [dynamo.Store] that brings the metrics which the environment asks for.
type Store struct {
	*dynamo.Store
	metrics idempotent.Observer
}

// DefaultObserver returns the observer of package emf if $ONCE_METRICS is "emf", and
// otherwise nil. An Executor without a Config.Observer adds it to its log: see
// [idempotent.Observed].
func (s *Store) DefaultObserver() idempotent.Observer { return s.metrics }

// Shared returns the store of [dynamo.Store.Shared] with the same metrics.
func (s *Store) Shared(native bool) (driver.Store, error) {
	shared, err := s.Store.Shared(native)
	if inner, ok := shared.(*dynamo.Store); ok && err == nil {
		return &Store{Store: inner, metrics: s.metrics}, nil
	}
	return shared, err
}

func defaultObserver() (idempotent.Observer, error) {
	value := os.Getenv(MetricsVariable)
	if value == "emf" {
		return emf.New(nil)
	}
	var mistakes driver.Mistakes
	mistakes.If(value != "", "dynamoenv: %s is %q; set it to emf, or remove it", MetricsVariable, value)
	return nil, mistakes.Err()
}
