// Package kmsseal wraps the data keys of package seal with AWS KMS.
//
//	keys, err := seal.DataKeys(kmsseal.New(kms.NewFromConfig(cfg)), keyARN, nil)
//	x, err := idempotent.New("create-payment", store, &idempotent.Config{Sealer: seal.New(keys, nil)})
//
// The KMS key must be symmetric. Functions need only kms:GenerateDataKey and
// kms:Decrypt on it. Policies can require the encryption context:
// kms:EncryptionContext:purpose is [Purpose].
//
// The first result of a process, and one result each hour, needs a request to KMS
// after its handler has returned. It is made in the time of Config.Reserve.
//
// KMS can rotate the key at any time: it still unwraps with the older material.
// If the key is disabled or scheduled for deletion, the results of its data keys
// cannot be opened. Callers receive an *idempotent.ResultUnavailableError, and
// the work does not run again.
package kmsseal

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/lambda-once/once/idempotent/seal"
)

// Purpose is the value of "purpose" in the encryption context of every wrapped
// key. It prevents that a key is unwrapped which the same KMS key wrapped for
// something else. The context names no record, because a data key serves many
// records. Package seal binds a result to its record.
const Purpose = "once:results"

// Client is the part of a kms.Client that this package uses.
type Client interface {
	GenerateDataKey(context.Context, *kms.GenerateDataKeyInput, ...func(*kms.Options)) (*kms.GenerateDataKeyOutput, error)
	Decrypt(context.Context, *kms.DecryptInput, ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

// A KMS implements [seal.KMS]. It is safe for concurrent use.
type KMS struct{ client Client }

var _ seal.KMS = (*KMS)(nil)

// New returns a KMS that uses client. It panics if client is nil.
func New(client Client) *KMS {
	if client == nil {
		panic("kmsseal: New: client is nil")
	}
	return &KMS{client}
}

// An Error reports a failed call to KMS. Its text contains no secrets.
type Error struct {
	Op    string // name of the call, such as "Decrypt"
	KeyID string
	Err   error // from the SDK
}

func (e *Error) Error() string {
	return fmt.Sprintf("kmsseal: %s with key %q: %v", e.Op, e.KeyID, e.Err)
}

// SafeText returns the whole text.
func (e *Error) SafeText() string { return e.Error() }

// Unwrap returns Err.
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
// It names the key. KMS would otherwise use the key that wrapped names, and a forged
// wrapped may name a foreign key if the function's policy does not name its keys.
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

// purpose returns a new map, because a client may retain its arguments.
func purpose() map[string]string { return map[string]string{"purpose": Purpose} }
