// Package program contains the common parts of the examples' functions: start, log, metrics and
// settings.
package program

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
)

// Start starts the handler that setUp returns, or ends the process with its error.
func Start[Handler any](setUp func(context.Context) (Handler, error)) {
	handler, err := setUp(context.Background())
	if err != nil {
		slog.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// Log has the default logger write JSON to standard error, from the level that
// AWS_LAMBDA_LOG_LEVEL sets.
func Log() error {
	level := slog.LevelInfo
	if text := os.Getenv("AWS_LAMBDA_LOG_LEVEL"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("AWS_LAMBDA_LOG_LEVEL: %w", err)
		}
	}
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	return nil
}

// Observer calls Log. It returns an observer that logs calls, and writes their metrics to
// standard output.
func Observer() (idempotent.Observer, error) {
	if err := Log(); err != nil {
		return nil, err
	}
	metrics, err := emf.New(nil)
	return idempotent.Observers{idempotent.LogObserver{}, metrics}, err
}

// Duration returns the value of a variable, or the standard one if it is not set.
func Duration(name string, standard, least time.Duration) (d time.Duration, err error) {
	d = standard
	if text := os.Getenv(name); text != "" {
		if d, err = time.ParseDuration(text); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	if d < least {
		return 0, fmt.Errorf("%s is %v, less than %v", name, d, least)
	}
	return d, nil
}

// Pause waits, or returns the cause of the end of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
