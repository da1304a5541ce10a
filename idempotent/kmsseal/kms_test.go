package kmsseal_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
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
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/kmsseal"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
)

const ours, theirs = "arn:aws:kms:eu-central-1:111122223333:key/ours", "arn:aws:kms:eu-central-1:444455556666:key/theirs"

func sealer(t *testing.T, s *server, keyID string, o *seal.DataKeyOptions) driver.Sealer {
	t.Helper()
	keys, err := seal.DataKeys(kmsseal.New(s.client()), keyID, o)
	check.Must(t, err)
	return seal.New(keys, nil)
}

var here = driver.Place{Record: "pay#1", Slot: "result"}

func sealed(t *testing.T, s driver.Sealer) []byte {
	t.Helper()
	b, err := s.Seal(t.Context(), here, []byte("secret"))
	check.Must(t, err)
	return b
}

func TestWireFormat(t *testing.T) {
	s := newServer(t, ours)
	b := sealed(t, sealer(t, s, ours, nil))
	if data, err := sealer(t, s, ours, nil).Open(t.Context(), here, b); err != nil || string(data) != "secret" {
		t.Fatalf("another process opened %q, %v", data, err)
	}
	if len(s.calls) != 2 {
		t.Fatalf("%d calls", len(s.calls))
	}
	var decrypt request
	check.Must(t, json.Unmarshal(s.calls[1].Body, &decrypt))
	check.True(t, bytes.Contains(b, decrypt.CiphertextBlob), "what was unwrapped is not what stands in the sealed value")
	check.Differ(t, len(decrypt.CiphertextBlob), 0)
	blob := base64.StdEncoding.EncodeToString(decrypt.CiphertextBlob)
	for i, want := range []string{
		`{"EncryptionContext":{"purpose":"once:results"},"KeyId":"` + ours + `","KeySpec":"AES_256"}`,
		`{"CiphertextBlob":"` + blob + `","EncryptionAlgorithm":"SYMMETRIC_DEFAULT","EncryptionContext":{"purpose":"once:results"},"KeyId":"` + ours + `"}`,
	} {
		check.Equal(t, sorted(t, s.calls[i].Body), want)
	}
	check.Equal(t, s.calls[0].Target, "TrentService.GenerateDataKey")
	check.Equal(t, s.calls[1].Target, "TrentService.Decrypt")
}

// sorted is a JSON object with its members in order.
func sorted(t *testing.T, body []byte) string {
	t.Helper()
	var v any
	check.Must(t, json.Unmarshal(body, &v))
	out, err := json.Marshal(v)
	check.Must(t, err)
	return string(out)
}

// A key that another account's KMS key has wrapped, and would unwrap for
// anybody, is not ours even under our key's name.
func TestForeignKeyIsRefused(t *testing.T) {
	k := kmsseal.New(newServer(t, ours, theirs).client())
	_, wrapped, err := k.GenerateDataKey(t.Context(), theirs)
	check.Must(t, err)
	_, err = k.Decrypt(t.Context(), ours, wrapped)
	check.As[*types.IncorrectKeyException](t, err)
}

// A disabled key opens nothing, and a key that does not exist seals nothing.
func TestFailuresNameTheirCall(t *testing.T) {
	s := newServer(t, ours)
	b := sealed(t, sealer(t, s, ours, nil))
	s.disabled[ours] = true
	_, err := sealer(t, s, ours, nil).Open(t.Context(), here, b)
	check.As[*types.DisabledException](t, err)
	failed := check.As[*kmsseal.Error](t, err)
	check.Equal(t, failed.Op, "Decrypt")
	check.Equal(t, failed.KeyID, ours)
	check.Contains(t, failed.Error(), "Decrypt")
	_, err = sealer(t, s, theirs, nil).Seal(t.Context(), here, nil)
	check.As[*types.NotFoundException](t, err)
	check.Equal(t, check.As[*kmsseal.Error](t, err).Op, "GenerateDataKey")
}

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
