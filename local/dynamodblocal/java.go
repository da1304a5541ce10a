package dynamodblocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/lambda-once/once/local/serving"
	"github.com/lambda-once/once/local/supervise"
)

const javaWanted = 17

// findJava returns the first Java that is new enough, from JAVA_HOME or PATH.
func findJava(ctx context.Context) (string, error) {
	var candidates []string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, "bin", "java"))
	}
	var errs []error
	if path, err := exec.LookPath("java"); err == nil {
		candidates = append(candidates, path)
	} else {
		errs = append(errs, err)
	}
	for _, path := range candidates {
		major, err := javaVersion(ctx, path)
		switch {
		case err != nil:
			errs = append(errs, err)
		case major < javaWanted:
			errs = append(errs, fmt.Errorf("%s is Java %d, older than %d", path, major, javaWanted))
		default:
			return filepath.Abs(path)
		}
	}
	return "", errors.Join(errs...)
}

// javaVersion runs java: the /usr/bin/java of macOS may only print where to download
// Java.
func javaVersion(ctx context.Context, path string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s -version: %w", path, err)
	}
	return parseJavaVersion(string(out))
}

// Java 8 reports 1.8.
var javaVersionLine = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

func parseJavaVersion(out string) (int, error) {
	m := javaVersionLine.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("no Java version in %q", out)
	}
	return strconv.Atoi(m[1])
}

func startJava(ctx context.Context, l serving.Launch, java, dir string) (*Server, error) {
	addr, p, err := l.Start(ctx, func(port string) supervise.Command {
		return supervise.Command{
			Path: java,
			Args: []string{
				"-XX:TieredStopAtLevel=1", // C2 does not pay in a server of a minute
				"-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"),
				"-jar", filepath.Join(dir, "DynamoDBLocal.jar"),
				"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port,
			},
			// java on PATH may be a shell script that needs the rest.
			Env: os.Environ(),
			Dir: dir,
		}
	})
	if err != nil {
		return nil, err
	}
	return newServer("http://"+addr, p.Kill), nil
}
