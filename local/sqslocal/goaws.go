package sqslocal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lambda-once/once/local/supervise"
)

const (
	module = "github.com/lambda-once/once/local/sqslocal"
	tool   = "github.com/Admiral-Piett/goaws/app/cmd"
)

// errPortTaken is the only error of a start that is retried.
var errPortTaken = errors.New("the port was taken")

// start builds the server in dir, and runs it there.
func start(ctx context.Context, dir string) (*Server, error) {
	// Built in this module, whose go.mod pins the versions, and not in the module
	// of the test.
	source, err := run(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "goaws")
	if _, err := run(ctx, "go", "-C", source, "build", "-o", binary, tool); err != nil {
		return nil, err
	}
	for range 3 {
		var s *Server
		if s, err = launch(ctx, dir, binary); !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
	return nil, err
}

func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &failure)
	}
	return strings.TrimSpace(string(out)), nil
}

func launch(ctx context.Context, dir, binary string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	// Only the server that was just started knows this queue, and not an older
	// one on the same port.
	queue := "started-" + rand.Text()
	config := filepath.Join(dir, "goaws.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, port, region, account, queue), 0o600); err != nil {
		return nil, err
	}
	var said tail
	p, err := supervise.Start(supervise.Command{
		Path: binary, Args: []string{"-config", config, "-loglevel", "error"}, Dir: dir,
		Output:   &said,
		Orphaned: []string{"/bin/rm", "-rf", dir},
	})
	if err != nil {
		return nil, err
	}
	endpoint := fmt.Sprintf("http://127.0.0.1:%d", port)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := knows(ctx, endpoint, queue)
		if err == nil {
			return newServer(endpoint, func() error { return errors.Join(p.Kill(), os.RemoveAll(dir)) }), nil
		}
		select {
		case <-p.Done():
			if strings.Contains(said.String(), "address already in use") {
				return nil, errPortTaken
			}
			return nil, fmt.Errorf("the server exited at once: %v\n%s", p.State(), &said)
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("the server does not respond: %w\n%s", err, &said), p.Kill())
		case <-ticker.C:
		}
	}
}

const configuration = `Local:
  Host: 127.0.0.1
  Port: "%d"
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

func freePort() (int, error) {
	// All interfaces, as the server will bind it.
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// tail stores the end of the server's output, for errors.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-16<<10):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
