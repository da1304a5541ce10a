package s3payload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
)

// Client is the part of an s3.Client that this package uses.
type Client interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

// Options are the options of [New]. A field with its zero value, or a nil
// *Options, stands for the defaults.
type Options struct {
	// MaxBytes is the size of the largest result that is put or read. Default
	// 64 MiB, at most 5 GiB.
	MaxBytes int64
	// Prefix is the prefix of the objects' keys, at most 512 bytes of UTF-8.
	// After a change, results under the old prefix are not found. Default
	// "once/".
	Prefix string
}

const (
	defaultMaxBytes = 64 << 20
	mostBytes       = 5 << 30 // of one PutObject
	maxPrefix       = 512     // a key has at most 1,024 bytes, 64 of them for the digest
)

// A Store implements [driver.PayloadStore]. It is safe for concurrent use.
type Store struct {
	client         Client
	bucket, prefix string
	maxBytes       int64
}

var _ driver.PayloadStore = (*Store)(nil)

// New returns a Store that uses an existing bucket.
func New(client Client, bucket string, o *Options) (*Store, error) {
	s := &Store{client: client, bucket: bucket, prefix: "once/", maxBytes: defaultMaxBytes}
	if o != nil && o.Prefix != "" {
		s.prefix = o.Prefix
	}
	if o != nil && o.MaxBytes != 0 {
		s.maxBytes = o.MaxBytes
	}
	var mistakes driver.Mistakes
	mistakes.If(client == nil, "s3payload: the client is nil")
	mistakes.If(bucket == "", "s3payload: the name of the bucket is empty")
	mistakes.If(len(s.prefix) > maxPrefix || !utf8.ValidString(s.prefix) || strings.HasPrefix(s.prefix, "/"),
		"s3payload: Options.Prefix has %d bytes, want at most %d bytes of UTF-8 that do not begin with a slash", len(s.prefix), maxPrefix)
	mistakes.If(s.maxBytes < 0 || s.maxBytes > mostBytes, "s3payload: Options.MaxBytes is %d, want 0 to 5 GiB", s.maxBytes)
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Put implements [driver.PayloadStore]. Its errors are a permanent
// [*TooLargeError] or an [*Error].
//
// Put writes an object again that exists already, and does not use If-None-Match:
// the object may be about to expire.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	if int64(len(data)) > s.maxBytes {
		return "", idempotent.Permanent(&TooLargeError{int64(len(data)), s.maxBytes})
	}
	r := s.refer(data)
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Body:              bytes.NewReader(data),
		Bucket:            &s.bucket,
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
		ChecksumSHA256:    aws.String(base64.StdEncoding.EncodeToString(r.sum[:])),
		ContentLength:     &r.size,
		ContentType:       aws.String("application/octet-stream"),
		Key:               &r.key,
	})
	if err != nil {
		return "", &Error{Op: "PutObject", Bucket: s.bucket, Key: r.key, Err: err}
	}
	return r.String(), nil
}

// Get implements [driver.PayloadStore]. Its errors are a [*MissingError],
// an [*AlteredError], a [*ReferenceError], a [*TooLargeError] or an [*Error].
func (s *Store) Get(ctx context.Context, text string) ([]byte, error) {
	r, err := s.parse(text)
	if err != nil {
		return nil, err
	}
	if r.size > s.maxBytes {
		return nil, &TooLargeError{r.size, s.maxBytes}
	}
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &r.key}, unchecked)
	if err != nil {
		if _, ok := errors.AsType[*types.NoSuchKey](err); ok {
			return nil, &MissingError{Bucket: s.bucket, Key: r.key, Err: err}
		}
		return nil, &Error{Op: "GetObject", Bucket: s.bucket, Key: r.key, Err: err}
	}
	data, err := read(out, r.size)
	switch {
	case err != nil:
		return nil, &Error{Op: "GetObject", Bucket: s.bucket, Key: r.key, Err: err}
	case int64(len(data)) != r.size || sha256.Sum256(data) != r.sum:
		return nil, &AlteredError{Bucket: s.bucket, Key: r.key}
	}
	return data, nil
}

// unchecked disables the verification of S3's checksum: the digest in the
// reference is stronger, because a new object comes with a new checksum.
func unchecked(o *s3.Options) {
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
}

// read reads at most one byte more than size. It allocates no more than S3's
// Content-Length, because the size in the reference may be forged.
func read(out *s3.GetObjectOutput, size int64) (_ []byte, err error) {
	defer func() { err = errors.Join(err, out.Body.Close()) }()
	var data bytes.Buffer
	if out.ContentLength != nil {
		data.Grow(int(min(*out.ContentLength, size)) + bytes.MinRead)
	}
	_, err = data.ReadFrom(io.LimitReader(out.Body, size+1))
	return data.Bytes(), err
}

// A reference is stored in a record as "1:size:key". 1 is the version of the
// format, and the key ends with the digest.
type reference struct {
	size int64
	key  string
	sum  [sha256.Size]byte
}

func (s *Store) refer(data []byte) reference {
	sum := sha256.Sum256(data)
	return reference{size: int64(len(data)), key: s.prefix + hex.EncodeToString(sum[:]), sum: sum}
}

func (r reference) String() string { return "1:" + strconv.FormatInt(r.size, 10) + ":" + r.key }

// parse decodes a reference, and trusts no part of it: a writer of the table must not
// be able to make functions read objects outside the prefix.
func (s *Store) parse(text string) (reference, error) {
	version, rest, _ := strings.Cut(text, ":")
	size, key, ok := strings.Cut(rest, ":")
	if version != "1" || !ok {
		return reference{}, &ReferenceError{"unknown format"}
	}
	digest, ok := strings.CutPrefix(key, s.prefix)
	if !ok {
		return reference{}, &ReferenceError{"key without the prefix"}
	}
	r := reference{key: key}
	var err error
	if r.size, err = strconv.ParseInt(size, 10, 64); err != nil || r.size < 0 {
		return reference{}, &ReferenceError{"size is not a number"}
	}
	if n, err := hex.Decode(r.sum[:], []byte(digest[:min(len(digest), 2*sha256.Size)])); err != nil || n != sha256.Size {
		return reference{}, &ReferenceError{"key without a digest"}
	}
	if r.String() != text || hex.EncodeToString(r.sum[:]) != digest {
		return reference{}, &ReferenceError{"not in canonical form"}
	}
	return r, nil
}
