package kmsseal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/kmsseal"
	"github.com/lambda-once/once/idempotent/memory"
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
	s := newServer(t, ours, theirs)
	b := sealed(t, sealer(t, s, theirs, nil))
	calls := len(s.calls)
	_, err := sealer(t, s, ours, nil).Open(t.Context(), here, b)
	check.Is(t, err, seal.ErrUnknownKey)
	check.Equal(t, len(s.calls), calls)
	wrapped := forged(t, s)
	_, err = kmsseal.New(s.client()).Decrypt(t.Context(), ours, wrapped)
	wrong, ok := errors.AsType[*types.IncorrectKeyException](err)
	check.True(t, ok)
	check.True(t, wrong != nil)
}

func forged(t *testing.T, s *server) []byte {
	t.Helper()
	_, wrapped, err := kmsseal.New(s.client()).GenerateDataKey(t.Context(), theirs)
	check.Must(t, err)
	return wrapped
}

// A key that our KMS key has wrapped for another purpose is not unwrapped.
func TestKeyOfAnotherPurpose(t *testing.T) {
	s := newServer(t, ours)
	out, refusal := s.answer("TrentService.GenerateDataKey", request{KeyId: ours, KeySpec: "AES_256", EncryptionContext: map[string]string{"purpose": "other"}})
	if refusal != "" {
		t.Fatal(refusal)
	}
	wrapped := out.(map[string]any)["CiphertextBlob"].([]byte)
	plain, err := kmsseal.New(s.client()).Decrypt(t.Context(), ours, wrapped)
	_, ok := errors.AsType[*types.InvalidCiphertextException](err)
	check.True(t, ok)
	check.True(t, plain == nil)
}

// A whole call: the result is sealed with a key of KMS, replayed elsewhere, and
// gone with the key, though never the work.
func TestThroughAnExecutor(t *testing.T) {
	s, store := newServer(t, ours), memory.New(0)
	pay := func(handler func(context.Context) (string, error)) (string, error) {
		x, err := idempotent.New("pay", store, &idempotent.Config{Sealer: sealer(t, s, ours, nil)})
		check.Must(t, err)
		return idempotent.Do(t.Context(), x, idempotent.Key{ID: "1"}, handler)
	}
	mustNotRun := func(context.Context) (string, error) {
		t.Error("the work was done again")
		return "", nil
	}
	_, err := pay(func(context.Context) (string, error) { return "secret", nil })
	check.Must(t, err)
	if value, err := pay(mustNotRun); value != "secret" || err != nil {
		t.Errorf("replayed %q, %v", value, err)
	}
	s.disabled[ours] = true
	_, err = pay(mustNotRun)
	var failed *kmsseal.Error
	check.Is(t, err, idempotent.ErrResultUnavailable, "with the key disabled")
	failed = check.As[*kmsseal.Error](t, err)
	check.Equal(t, failed.Op, "Decrypt")
	check.Equal(t, failed.KeyID, ours)
	if failed != nil && (!strings.Contains(failed.Error(), "Decrypt") || strings.Contains(failed.Error(), "secret")) {
		t.Errorf("its text: %v", failed)
	}
	s.disabled[ours] = false
	value, err := pay(mustNotRun)
	check.Equal(t, value, "secret", "with the key enabled again")
	check.Nil(t, err)
}

func TestGenerateThatFails(t *testing.T) {
	s := newServer(t)
	_, err := sealer(t, s, ours, nil).Seal(t.Context(), here, nil)
	failed := check.As[*kmsseal.Error](t, err)
	check.Equal(t, failed.Op, "GenerateDataKey")
	_, ok := errors.AsType[*types.NotFoundException](err)
	check.True(t, ok)
}
