package stored

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/jackc/pgx/v5"
	client "github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/notrun"
)

// sentEnding is that of the files with what a release sends to a kind of server for each
// call, in their order: requests, statements or scripts. A later version that sends
// anything else is tested beside a store that sends these.
const sentEnding = ".sent.json"

// sent collects the texts that are sent to a server, each once. It is a setting of each
// kind of client.
type sent struct {
	mu  sync.Mutex
	all []string
}

func (s *sent) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.all, text) {
		s.all = append(s.all, text)
	}
}

func (s *sent) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// requests is an option of a client of DynamoDB.
func (s *sent) requests(o *dynamodb.Options) {
	inner := o.HTTPClient
	o.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.add(r.Header.Get("X-Amz-Target") + " " + string(body))
		return inner.Do(r)
	})
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func (s *sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.add(q.SQL)
	return ctx
}

func (s *sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *sent) DialHook(next client.DialHook) client.DialHook { return next }

func (s *sent) ProcessPipelineHook(next client.ProcessPipelineHook) client.ProcessPipelineHook {
	return next
}

func (s *sent) ProcessHook(next client.ProcessHook) client.ProcessHook {
	return func(ctx context.Context, cmd client.Cmder) error {
		if args := cmd.Args(); args[0] == "eval" {
			s.add(args[1].(string))
		}
		return next(ctx, cmd)
	}
}

// A test with two versions on one server needs what the older one sends. proof/release
// prints no tag of a version that has not frozen it.
func TestReleasesHaveFrozenWhatTheySend(t *testing.T) {
	frozen, err := filepath.Glob("testdata/v*/*" + sentEnding)
	check.Must(t, err)
	if len(frozen) == 0 {
		notrun.Say(t, "no version is released, so none runs beside this one")
	}
}
