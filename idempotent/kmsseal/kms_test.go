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
	"github.com/lambda-once/once/idempotent/kmsseal"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/seal"
)

const ours, theirs = "arn:aws:kms:eu-central-1:111122223333:key/ours", "arn:aws:kms:eu-central-1:444455556666:key/theirs"

func sealer(t *testing.T, s *server, keyID string, o *seal.DataKeyOptions) idempotent.Sealer {
	t.Helper()
	keys, err := seal.DataKeys(kmsseal.New(s.client()), keyID, o)
	if err != nil {
		t.Fatal(err)
	}
	return seal.New(keys, nil)
}

var here = idempotent.Place{Record: "pay#1", Slot: "result"}

func sealed(t *testing.T, s idempotent.Sealer) []byte {
	t.Helper()
	b, err := s.Seal(t.Context(), here, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal(s.calls[1].Body, &decrypt); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, decrypt.CiphertextBlob) || len(decrypt.CiphertextBlob) == 0 {
		t.Error("what was unwrapped is not what stands in the sealed value")
	}
	blob := base64.StdEncoding.EncodeToString(decrypt.CiphertextBlob)
	for i, want := range []string{
		`{"EncryptionContext":{"purpose":"once:results"},"KeyId":"` + ours + `","KeySpec":"AES_256"}`,
		`{"CiphertextBlob":"` + blob + `","EncryptionAlgorithm":"SYMMETRIC_DEFAULT","EncryptionContext":{"purpose":"once:results"},"KeyId":"` + ours + `"}`,
	} {
		if got := sorted(t, s.calls[i].Body); got != want {
			t.Errorf("%s: sent\n%s\nwant\n%s", s.calls[i].Target, got, want)
		}
	}
	if s.calls[0].Target != "TrentService.GenerateDataKey" || s.calls[1].Target != "TrentService.Decrypt" {
		t.Errorf("called %s and %s", s.calls[0].Target, s.calls[1].Target)
	}
}

// sorted is a JSON object with its members in order.
func sorted(t *testing.T, body []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A key that another account's KMS key has wrapped, and would unwrap for
// anybody, is not ours even under our key's name.
func TestForeignKeyIsRefused(t *testing.T) {
	s := newServer(t, ours, theirs)
	b := sealed(t, sealer(t, s, theirs, nil))
	calls := len(s.calls)
	_, err := sealer(t, s, ours, nil).Open(t.Context(), here, b)
	if !errors.Is(err, seal.ErrUnknownKey) || len(s.calls) != calls {
		t.Errorf("got %v after %d calls", err, len(s.calls)-calls)
	}
	wrapped := forged(t, s)
	_, err = kmsseal.New(s.client()).Decrypt(t.Context(), ours, wrapped)
	if wrong, ok := errors.AsType[*types.IncorrectKeyException](err); !ok || wrong == nil {
		t.Errorf("got %v", err)
	}
}

func forged(t *testing.T, s *server) []byte {
	t.Helper()
	_, wrapped, err := kmsseal.New(s.client()).GenerateDataKey(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
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
	if _, ok := errors.AsType[*types.InvalidCiphertextException](err); !ok || plain != nil {
		t.Errorf("got %x, %v", plain, err)
	}
}

// A whole call: the result is sealed with a key of KMS, replayed elsewhere, and
// gone with the key, though never the work.
func TestThroughAnExecutor(t *testing.T) {
	s, store := newServer(t, ours), memory.New(0)
	pay := func(handler func(context.Context) (string, error)) (string, error) {
		x, err := idempotent.New("pay", store, &idempotent.Config{Sealer: sealer(t, s, ours, nil)})
		if err != nil {
			t.Fatal(err)
		}
		return idempotent.Do(t.Context(), x, idempotent.Key{ID: "1"}, handler)
	}
	mustNotRun := func(context.Context) (string, error) {
		t.Error("the work was done again")
		return "", nil
	}
	if _, err := pay(func(context.Context) (string, error) { return "secret", nil }); err != nil {
		t.Fatal(err)
	}
	if value, err := pay(mustNotRun); value != "secret" || err != nil {
		t.Errorf("replayed %q, %v", value, err)
	}
	s.disabled[ours] = true
	_, err := pay(mustNotRun)
	var failed *kmsseal.Error
	if !errors.Is(err, idempotent.ErrResultUnavailable) || !errors.As(err, &failed) || failed.Op != "Decrypt" || failed.KeyID != ours {
		t.Errorf("with the key disabled: %v", err)
	}
	if failed != nil && (!strings.Contains(failed.Error(), "Decrypt") || strings.Contains(failed.Error(), "secret")) {
		t.Errorf("its text: %v", failed)
	}
	s.disabled[ours] = false
	if value, err := pay(mustNotRun); value != "secret" || err != nil {
		t.Errorf("with the key enabled again: %q, %v", value, err)
	}
}

func TestGenerateThatFails(t *testing.T) {
	s := newServer(t)
	_, err := sealer(t, s, ours, nil).Seal(t.Context(), here, nil)
	var failed *kmsseal.Error
	if !errors.As(err, &failed) || failed.Op != "GenerateDataKey" {
		t.Errorf("got %v", err)
	}
	if _, ok := errors.AsType[*types.NotFoundException](err); !ok {
		t.Errorf("got %v", err)
	}
}
