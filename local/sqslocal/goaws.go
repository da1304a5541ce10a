package sqslocal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/local/serving"
	"github.com/lambda-once/once/local/supervise"
)

const (
	module = "github.com/lambda-once/once/local/sqslocal"
	tool   = "github.com/Admiral-Piett/goaws/app/cmd"
)

// start builds the server in dir, and runs it there.
func start(ctx context.Context, dir string, timeout time.Duration) (*Server, error) {
	// Built in this module, whose go.mod pins the versions, and not in the module
	// of the test.
	source, err := run(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, err
	}
	binary, config := filepath.Join(dir, "goaws"), filepath.Join(dir, "goaws.yaml")
	if _, err := run(ctx, "go", "-C", source, "build", "-o", binary, tool); err != nil {
		return nil, err
	}
	// Only the server that was just started knows this queue, and not an older
	// one on the same port.
	queue := "started-" + rand.Text()
	var failed error
	addr, p, err := serving.Launch{
		Package: "sqslocal", CacheDir: dir, Timeout: timeout,
		Answers: func(ctx context.Context, addr string) error { return knows(ctx, "http://"+addr, queue) },
	}.Start(ctx, func(port string) supervise.Command {
		if failed = os.WriteFile(config, fmt.Appendf(nil, configuration, port, region, account, queue), 0o600); failed != nil {
			return supervise.Command{} // which cannot be started
		}
		return supervise.Command{
			Path: binary, Args: []string{"-config", config, "-loglevel", "error"}, Dir: dir,
			Orphaned: []string{"/bin/rm", "-rf", dir},
		}
	})
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	return newServer("http://"+addr, func() error { return errors.Join(p.Kill(), os.RemoveAll(dir)) }), nil
}

func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("sqslocal: %s %s: %w\n%s", name, strings.Join(args, " "), err, &failure)
	}
	return strings.TrimSpace(string(out)), nil
}

const configuration = `Local:
  Host: 127.0.0.1
  Port: "%s"
  Region: %s
  AccountId: "%s"
  Queues:
    - Name: %s
`

func knows(ctx context.Context, endpoint, queue string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := newClient(endpoint, &http.Transport{DisableKeepAlives: true}, aws.NopRetryer{})
	_, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &queue})
	return err
}
