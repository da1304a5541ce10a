// Package kmsseal wraps the data keys of package seal with AWS KMS.
//
//	keys, err := seal.DataKeys(kmsseal.New(kms.NewFromConfig(cfg)), keyARN, nil)
//	x, err := idempotent.New("create-payment", store, &idempotent.Config{Sealer: seal.New(keys, nil)})
//
// The KMS key is a symmetric one. Functions need kms:GenerateDataKey and
// kms:Decrypt on it and nothing else; policies can require the encryption
// context: kms:EncryptionContext:purpose is [Purpose].
//
// The first result of a process, and one each hour, needs a request to KMS after
// its handler has returned, in the time of Config.Reserve.
//
// Enable the key's own rotation at will: KMS unwraps with its former material.
// A key that is disabled, or scheduled for deletion, takes all results with it
// that it has wrapped the keys of: callers get an
// *idempotent.ResultUnavailableError, and the work is not run again.
package kmsseal

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/lambda-once/once/idempotent/seal"
)

// Purpose stands in the encryption context of all wrapped keys, as "purpose":
// a key that the same KMS key has wrapped for something else is not unwrapped.
// A data key serves many records, so no record can stand there; that a result
// belongs to its record is what package seal sees to.
const Purpose = "once:results"

// Client is what is used of a kms.Client.
type Client interface {
	GenerateDataKey(context.Context, *kms.GenerateDataKeyInput, ...func(*kms.Options)) (*kms.GenerateDataKeyOutput, error)
	Decrypt(context.Context, *kms.DecryptInput, ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

// KMS implements [seal.KMS]. It is safe for concurrent use.
type KMS struct{ client Client }

var _ seal.KMS = (*KMS)(nil)

// New panics if the client is nil.
func New(client Client) *KMS {
	if client == nil {
		panic("kmsseal: New: the client is nil")
	}
	return &KMS{client}
}

// Error is a call to KMS that failed. Its text holds no secrets.
type Error struct {
	Op    string // the call, such as "Decrypt"
	KeyID string
	Err   error // from the SDK
}

func (e *Error) Error() string {
	return fmt.Sprintf("kmsseal: %s with key %q: %v", e.Op, e.KeyID, e.Err)
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// GenerateDataKey implements [seal.KMS]. Its errors are an [*Error].
func (k *KMS) GenerateDataKey(ctx context.Context, keyID string) (plain, wrapped []byte, err error) {
	out, err := k.client.GenerateDataKey(ctx, &kms.GenerateDataKeyInput{
		KeyId: &keyID, KeySpec: types.DataKeySpecAes256, EncryptionContext: purpose(),
	})
	if err != nil {
		return nil, nil, &Error{Op: "GenerateDataKey", KeyID: keyID, Err: err}
	}
	return out.Plaintext, out.CiphertextBlob, nil
}

// Decrypt implements [seal.KMS]. Its errors are an [*Error].
//
// It names the key, which KMS would otherwise find out from what is wrapped:
// anybody's, if the function's policy does not name its keys.
func (k *KMS) Decrypt(ctx context.Context, keyID string, wrapped []byte) ([]byte, error) {
	out, err := k.client.Decrypt(ctx, &kms.DecryptInput{
		KeyId: &keyID, CiphertextBlob: wrapped, EncryptionContext: purpose(),
		EncryptionAlgorithm: types.EncryptionAlgorithmSpecSymmetricDefault,
	})
	if err != nil {
		return nil, &Error{Op: "Decrypt", KeyID: keyID, Err: err}
	}
	return out.Plaintext, nil
}

// purpose is made anew, as a client may keep what it is given.
func purpose() map[string]string { return map[string]string{"purpose": Purpose} }
