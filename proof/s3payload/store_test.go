package s3payload_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/lambda-once/once/idempotent/s3payload"
	"github.com/lambda-once/once/internal/check"
)

func TestPutAndGet(t *testing.T) {
	s := newServer(t)
	for _, o := range []*s3payload.Options{nil, {Prefix: "a b/ü:1/"}} {
		for name, data := range map[string][]byte{"empty": {}, "text": []byte("result"), "bytes": {0, 0xff, '\n'}, "10 MB": bytes.Repeat([]byte("0123456789"), 1_000_000)} {
			got, err := s.store(o).Get(t.Context(), s.put(o, data))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: got %d bytes, %v", name, len(got), err)
			}
		}
	}
}

// The form stands in records, and must not change.
func TestReferenceAndRequest(t *testing.T) {
	s := newServer(t)
	reference := s.put(nil, []byte("result"))
	sum := sha256.Sum256([]byte("result"))
	key := fmt.Sprintf("once/%x", sum)
	check.Equal(t, reference, "1:6:"+key, "reference")
	put := s.puts[0]
	if put.URL.Path != "/results/"+key || put.Header.Get("X-Amz-Checksum-Sha256") != base64.StdEncoding.EncodeToString(sum[:]) || put.Header.Get("If-None-Match") != "" {
		t.Errorf("sent %s, %v", put.URL.Path, put.Header)
	}
}

// An object that is there is written again: its age is what lifecycle rules
// go by.
func TestPutTwice(t *testing.T) {
	s := newServer(t)
	first, second := s.put(nil, []byte("result")), s.put(nil, []byte("result"))
	if first != second || len(s.puts) != 2 || len(s.objects()) != 1 {
		t.Errorf("references %q and %q, %d writes, objects %q", first, second, len(s.puts), s.objects())
	}
}

func TestMissingObject(t *testing.T) {
	s := newServer(t)
	reference := s.put(nil, []byte("result"))
	key := s.objects()[0]
	s.delete(key)
	data, err := s.store(nil).Get(t.Context(), reference)
	var missing *s3payload.MissingError
	if data != nil || !errors.As(err, &missing) || missing.Key != key || missing.Bucket != bucket || !errors.Is(err, s3payload.ErrMissing) {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestAlteredObject(t *testing.T) {
	s := newServer(t)
	reference := s.put(nil, []byte("result"))
	for _, forged := range []string{"", "resulT", "resul", "result ", strings.Repeat("result", 1_000_000)} {
		s.overwrite(s.objects()[0], []byte(forged))
		data, err := s.store(nil).Get(t.Context(), reference)
		if altered, ok := errors.AsType[*s3payload.AlteredError](err); data != nil || !ok || altered.Key != s.objects()[0] {
			t.Errorf("%.10q: got %.10q, %v", forged, data, err)
		}
	}
}

// Whoever can write the table cannot have other objects read.
func TestForeignReferences(t *testing.T) {
	s := newServer(t)
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("secret")))
	s.overwrite("private/"+digest, []byte("secret"))
	s.overwrite("once/plain", []byte("secret"))
	before := s.gets
	for _, reference := range []string{
		"", "1", "1:6", "1:6:", "nonsense", "arn:aws:s3:::results/once/" + digest,
		"1:6:private/" + digest, "1:6:once/../private/" + digest, "1:6:" + digest, "1:6:/once/" + digest,
		"1:6:once/plain", "1:6:once/" + digest[1:], "1:6:once/" + digest + "0", "1:6:once/" + strings.ToUpper(digest), "1:6:once/" + strings.Repeat("g", 64),
		"2:6:once/" + digest, "1::once/" + digest, "1:-6:once/" + digest, "1:+6:once/" + digest, "1:06:once/" + digest, "1:99999999999999999999:once/" + digest,
	} {
		data, err := s.store(nil).Get(t.Context(), reference)
		if _, ok := errors.AsType[*s3payload.ReferenceError](err); data != nil || !ok || !errors.Is(err, s3payload.ErrReference) {
			t.Errorf("%q: got %q, %v", reference, data, err)
		}
	}
	check.Equal(t, s.gets, before, "S3 received", s.gets-before, "requests")
}

func TestTooLarge(t *testing.T) {
	s := newServer(t)
	small := s.store(&s3payload.Options{MaxBytes: 5})
	if _, err := small.Put(t.Context(), []byte("result")); !errors.Is(err, s3payload.ErrTooLarge) || len(s.puts) != 0 {
		t.Errorf("put: %v after %d requests", err, len(s.puts))
	}
	reference := s.put(nil, []byte("result"))
	var tooLarge *s3payload.TooLargeError
	if _, err := small.Get(t.Context(), reference); !errors.As(err, &tooLarge) || *tooLarge != (s3payload.TooLargeError{Bytes: 6, Limit: 5}) || s.gets != 0 {
		t.Errorf("get: %v after %d requests", err, s.gets)
	}
}

// An error that does not prove that the object is missing is an Error. S3 returns
// 403 for a missing object if ListBucket is not allowed.
func TestOtherFailures(t *testing.T) {
	s := newServer(t)
	reference := s.put(nil, []byte("result"))
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "6")
		_, _ = w.Write([]byte("res"))
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		refuses http.HandlerFunc
		code    string
	}{
		"403":       {refusal(403, "AccessDenied"), "AccessDenied"},
		"no bucket": {refusal(404, "NoSuchBucket"), "NoSuchBucket"},
		"503":       {refusal(503, "SlowDown"), "SlowDown"},
		"cut off":   {cut, ""},
	} {
		s.refuse(c.refuses)
		data, err := s.store(nil).Get(t.Context(), reference)
		var failed *s3payload.Error
		if data != nil || !errors.As(err, &failed) || failed.Op != "GetObject" || errors.Is(err, s3payload.ErrMissing) || errors.Is(err, s3payload.ErrAltered) {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
		if api, ok := errors.AsType[smithy.APIError](err); c.code != "" && (!ok || api.ErrorCode() != c.code) {
			t.Errorf("%s: got %v", name, err)
		}
		if c.code != "" {
			if _, err := s.store(nil).Put(t.Context(), []byte("other")); !errors.As(err, &failed) || failed.Op != "PutObject" {
				t.Errorf("%s: put %v", name, err)
			}
		}
	}
}

func TestContextEndsARequest(t *testing.T) {
	s := newServer(t)
	reference := s.put(nil, []byte("result"))
	s.refuse(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.store(nil).Get(ctx, reference); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestNewRefusesMistakes(t *testing.T) {
	client := newServer(t).client()
	for name, c := range map[string]struct {
		client s3payload.Client
		bucket string
		o      s3payload.Options
	}{
		"no client":      {nil, bucket, s3payload.Options{}},
		"no bucket":      {client, "", s3payload.Options{}},
		"long prefix":    {client, bucket, s3payload.Options{Prefix: strings.Repeat("p", 513)}},
		"not UTF-8":      {client, bucket, s3payload.Options{Prefix: "\xff/"}},
		"slash first":    {client, bucket, s3payload.Options{Prefix: "/once/"}},
		"negative limit": {client, bucket, s3payload.Options{MaxBytes: -1}},
		"huge limit":     {client, bucket, s3payload.Options{MaxBytes: 5<<30 + 1}},
	} {
		if _, err := s3payload.New(c.client, c.bucket, &c.o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
