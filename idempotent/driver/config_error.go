package driver

import (
	"errors"
	"fmt"
	"time"
)

// A ConfigError reports the mistakes in the arguments of a constructor, all of them,
// one a line. Nothing was sent. Every package of this module returns it.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// SafeText returns the whole text.
func (e *ConfigError) SafeText() string { return e.Error() }

// Unwrap returns Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// Mistakes collects the mistakes in the arguments of a constructor.
type Mistakes []error

// Add adds a mistake. The text names its package and its argument.
func (m *Mistakes) Add(format string, args ...any) {
	*m = append(*m, fmt.Errorf(format, args...))
}

// If adds a mistake if wrong is true. Where a cold start makes many checks, an if
// with [Mistakes.Add] is cheaper: the args of If are allocated in any case.
func (m *Mistakes) If(wrong bool, format string, args ...any) {
	if wrong {
		m.Add(format, args...)
	}
}

// Unit adds a mistake for a duration of less than a millisecond that is not 0, nor below:
// a number without its unit counts nanoseconds. The name is that of the argument, with its
// package.
func (m *Mistakes) Unit(name string, d time.Duration) {
	if 0 < d && d < time.Millisecond {
		m.Add("%s is %v, below 1 ms; a number counts nanoseconds, so multiply it by a unit such as time.Second", name, d)
	}
}

// Err returns a [*ConfigError] with the mistakes, or nil if there are none.
func (m Mistakes) Err() error {
	if len(m) == 0 {
		return nil
	}
	return &ConfigError{Err: errors.Join(m...)}
}

// Panic panics with the [*ConfigError] of Err if there are mistakes. It serves
// constructors of handlers, which return no error.
func (m Mistakes) Panic() {
	if err := m.Err(); err != nil {
		panic(err)
	}
}
