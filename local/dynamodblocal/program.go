package dynamodblocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/lambda-once/once/internal/fetch"
	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/internal/supervise"
)

// ErrNoRuntime reports that neither Java 17 nor Docker is available.
var ErrNoRuntime = errors.New("dynamodblocal: neither Java 17 or newer nor Docker is usable")

var kind = serving.Kind{
	Package: "dynamodblocal", Name: "dynamodb-local",
	Variable: endpointVar, URL: "http://%s", Answers: answers,
	Find:  find,
	Image: dockerImage,
	Docker: func(port string) []string {
		publish := "127.0.0.1:" + port + ":8000"
		return append([]string{"--publish", publish, dockerImage, "-jar", "DynamoDBLocal.jar"}, settings...)
	},
}

// The digest decides; the tag is a comment.
const dockerImage = "amazon/dynamodb-local:3.3.1@sha256:ff89bd48ff32cd8d9be5fee8873b65b8854dc408f1afe881be6eb00247bc0dab"

var settings = []string{"-inMemory", "-sharedDb", "-disableTelemetry"}

func find(ctx context.Context, o serving.Options) (serving.Program, error) {
	java, err := findJava(ctx)
	if err != nil {
		return serving.Program{}, fmt.Errorf("%w: Java: %w", ErrNoRuntime, err)
	}
	dir, err := install(ctx, o)
	if err != nil {
		return serving.Program{}, fmt.Errorf("dynamodblocal: fetching: %w", err)
	}
	return serving.Program{Command: func(_, port string) (supervise.Command, error) {
		return supervise.Command{
			Path: java,
			Args: append([]string{
				"-XX:TieredStopAtLevel=1", // C2 does not pay in a server of a minute
				"-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"),
				"-jar", filepath.Join(dir, "DynamoDBLocal.jar"), "-port", port,
			}, settings...),
			// java on PATH may be a shell script that needs the rest.
			Env: os.Environ(),
		}, nil
	}}, nil
}

// Java 8 reports 1.8.
var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// findJava returns the first Java that is new enough, from JAVA_HOME or PATH.
func findJava(ctx context.Context) (string, error) {
	candidates := []string{"java"}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		candidates = []string{filepath.Join(home, "bin", "java"), "java"}
	}
	return serving.Installed(ctx, candidates, "-version", javaVersion, 17)
}

// The vendor's URL carries a date and the archive under it does not change;
// the one that ends in "latest" does. Its checksum is the one that Amazon
// publishes beside it.
func install(ctx context.Context, o serving.Options) (string, error) {
	return fetch.Program{
		Name:     "DynamoDB Local",
		CacheDir: o.CacheDir,
		File:     "DynamoDBLocal.jar",
		Log:      o.Log,
		Sources: []fetch.Source{
			{
				Version: "3.3.1",
				SHA256:  "f80bcec477f85f57e2c77f8d54aa6b672a8403fceff0c450560aee1cf6c21163",
				Fetch:   fetch.Download("https://d1ni2b6xgvw0s0.cloudfront.net/v2.x/dynamodb_local_2026-07-31.tar.gz"),
			},
			{
				Version: "1.25.1",
				SHA256:  "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9",
				Prefix:  "package/emulator/",
				Fetch:   fetch.NpmPack("amplify-dynamodb-simulator", "2.9.30"),
			},
		},
	}.Install(ctx)
}
