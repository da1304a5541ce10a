package kmsseal_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/lambda-once/once/internal/check"
)

// server speaks KMS's JSON protocol, and really wraps keys: what it has wrapped
// is bound to the wrapping key and to the encryption context.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	keys     map[string]cipher.AEAD // by ARN
	disabled map[string]bool
	calls    []call
}

// call is a request as it came over the wire.
type call struct {
	Target string
	Body   []byte
}

type request struct {
	KeyId, KeySpec, EncryptionAlgorithm string
	EncryptionContext                   map[string]string
	CiphertextBlob                      []byte
}

func newServer(t *testing.T, arns ...string) *server {
	t.Helper()
	s := &server{keys: map[string]cipher.AEAD{}, disabled: map[string]bool{}}
	for _, arn := range arns {
		block, err := aes.NewCipher(random(t, 32))
		check.Must(t, err)
		if s.keys[arn], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			t.Fatal(err)
		}
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	_, err := rand.Read(b)
	check.Must(t, err)
	return b
}

func (s *server) client() *kms.Client {
	return kms.New(kms.Options{
		BaseEndpoint: &s.URL, Region: "eu-central-1", RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	var in request
	if _, err := body.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := json.Unmarshal(body.Bytes(), &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	target := r.Header.Get("X-Amz-Target")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{target, body.Bytes()})
	out, refusal := s.answer(target, in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if refusal != "" {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]any{"__type": refusal, "message": "refused"}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// answer returns the response, or the code of a refusal.
func (s *server) answer(target string, in request) (out any, refusal string) {
	if in.KeyId == "" && target == "TrentService.Decrypt" && len(in.CiphertextBlob) > 2 {
		// KMS then goes by the ciphertext, whosever key that is.
		n := min(int(binary.BigEndian.Uint16(in.CiphertextBlob)), len(in.CiphertextBlob)-2)
		in.KeyId = string(in.CiphertextBlob[2 : 2+n])
	}
	key, ok := s.keys[in.KeyId]
	switch {
	case !ok:
		return nil, "NotFoundException"
	case s.disabled[in.KeyId]:
		return nil, "DisabledException"
	}
	switch target {
	case "TrentService.GenerateDataKey":
		if in.KeySpec != "AES_256" {
			return nil, "ValidationException"
		}
		plain := make([]byte, 32)
		if _, err := rand.Read(plain); err != nil {
			return nil, "KMSInternalException"
		}
		blob := binary.BigEndian.AppendUint16(nil, uint16(len(in.KeyId)))
		blob = append(blob, in.KeyId...)
		blob = key.Seal(blob, nil, plain, contextBytes(in))
		return map[string]any{"KeyId": in.KeyId, "Plaintext": plain, "CiphertextBlob": blob}, ""
	case "TrentService.Decrypt":
		blob := in.CiphertextBlob
		if len(blob) < 2 || len(blob) < 2+int(binary.BigEndian.Uint16(blob)) {
			return nil, "InvalidCiphertextException"
		}
		n := int(binary.BigEndian.Uint16(blob))
		if string(blob[2:2+n]) != in.KeyId {
			return nil, "IncorrectKeyException"
		}
		plain, err := key.Open(nil, nil, blob[2+n:], contextBytes(in))
		if err != nil {
			return nil, "InvalidCiphertextException"
		}
		return map[string]any{"KeyId": in.KeyId, "Plaintext": plain, "EncryptionAlgorithm": "SYMMETRIC_DEFAULT"}, ""
	default:
		return nil, "UnknownOperationException"
	}
}

func contextBytes(in request) []byte {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(in.EncryptionContext)) {
		b = fmt.Appendf(b, "%q=%q;", name, in.EncryptionContext[name])
	}
	return b
}
