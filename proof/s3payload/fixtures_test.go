package s3payload_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/lambda-once/once/idempotent/s3payload"
	"github.com/lambda-once/once/internal/check"
)

const bucket = "results"

// server is an S3 with the bucket, over HTTP. If refuses is set, its response
// replaces that of the server.
type server struct {
	*httptest.Server
	*testing.T
	fake http.Handler

	mu      sync.Mutex
	refuses http.HandlerFunc
	puts    []*http.Request
	gets    int
}

func newServer(t *testing.T) *server {
	t.Helper()
	backend := s3mem.New()
	check.Must(t, backend.CreateBucket(bucket))
	s := &server{T: t, fake: gofakes3.New(backend).Server()}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	refuses := s.refuses
	switch r.Method {
	case http.MethodPut:
		s.puts = append(s.puts, r)
	case http.MethodGet:
		s.gets++
	}
	s.mu.Unlock()
	if refuses != nil {
		refuses(w, r)
		return
	}
	s.fake.ServeHTTP(w, r)
}

func (s *server) refuse(with http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = with
}

// refusal responds as S3 does.
func refusal(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>`+code+`</Code><Message>refused</Message></Error>`)
	}
}

func (s *server) client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &s.URL, Region: "eu-central-1", UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})
}

func (s *server) store(o *s3payload.Options) *s3payload.Store {
	s.Helper()
	store, err := s3payload.New(s.client(), bucket, o)
	check.Must(s, err)
	return store
}

// put stores data, and returns its reference.
func (s *server) put(o *s3payload.Options, data []byte) string {
	s.Helper()
	reference, err := s.store(o).Put(s.Context(), data)
	check.Must(s, err)
	return reference
}

// objects are the keys in the bucket.
func (s *server) objects() []string {
	s.Helper()
	out, err := s.client().ListObjectsV2(s.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	check.Must(s, err)
	var keys []string
	for _, o := range out.Contents {
		keys = append(keys, *o.Key)
	}
	return keys
}

func (s *server) overwrite(key string, data []byte) {
	s.Helper()
	_, err := s.client().PutObject(s.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(data)})
	check.Must(s, err)
}

func (s *server) delete(key string) {
	s.Helper()
	if _, err := s.client().DeleteObject(s.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key}); err != nil {
		s.Fatal(err)
	}
}
