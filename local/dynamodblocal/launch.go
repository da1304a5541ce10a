package dynamodblocal

import (
	"context"
	"errors"
	"fmt"

	"github.com/lambda-once/once/local/serving"
)

// ErrNoRuntime reports that neither Java 17 nor Docker is available.
var ErrNoRuntime = errors.New("dynamodblocal: neither Java 17 or newer nor Docker is usable")

// A NoRuntimeError is an [ErrNoRuntime] with its reasons.
type NoRuntimeError struct{ Java, Docker error }

func (e *NoRuntimeError) Error() string {
	return fmt.Sprintf("%v: Java: %v; Docker: %v", ErrNoRuntime, e.Java, e.Docker)
}

func (e *NoRuntimeError) Is(target error) bool { return target == ErrNoRuntime }

func (e *NoRuntimeError) Unwrap() []error { return []error{e.Java, e.Docker} }

func launch(ctx context.Context, l serving.Launch) (*Server, error) {
	java, noJava := findJava(ctx)
	if noJava == nil {
		dir, err := install(ctx, l)
		if err == nil {
			return startJava(ctx, l, java, dir)
		}
		// Docker may reach the same program where the download failed.
		docker, noDocker := serving.FindDocker(ctx)
		if noDocker != nil {
			return nil, fmt.Errorf("dynamodblocal: fetching: %w (and no Docker: %w)", err, noDocker)
		}
		return startDocker(ctx, l, docker)
	}
	docker, noDocker := serving.FindDocker(ctx)
	if noDocker != nil {
		return nil, &NoRuntimeError{Java: noJava, Docker: noDocker}
	}
	return startDocker(ctx, l, docker)
}

// The digest decides; the tag is a comment.
const dockerImage = "amazon/dynamodb-local:3.3.1@sha256:ff89bd48ff32cd8d9be5fee8873b65b8854dc408f1afe881be6eb00247bc0dab"

func startDocker(ctx context.Context, l serving.Launch, docker string) (*Server, error) {
	addr, stop, err := l.StartImage(ctx, docker, serving.Image{
		Name:      dockerImage,
		Container: "once-dynamodb-",
		Args: func(port string) []string {
			return []string{
				"--publish", "127.0.0.1:" + port + ":8000", dockerImage,
				"-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-disableTelemetry",
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return newServer("http://"+addr, stop), nil
}
