package docs_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/kmsseal"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/s3payload"
	"github.com/lambda-once/once/idempotent/seal"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/security.md.

func largeAndSecret(cfg aws.Config, bucket, keyARN string) (*idempotent.Config, error) {
	payloads, err := s3payload.New(s3.NewFromConfig(cfg), bucket, nil)
	if err != nil {
		return nil, err
	}
	keys, err := seal.DataKeys(kmsseal.New(kms.NewFromConfig(cfg)), keyARN, nil)
	if err != nil {
		return nil, err
	}
	return &idempotent.Config{
		Payloads: payloads,
		Reserve:  3 * time.Second, // for S3 and KMS, after the handler
		Sealer:   seal.New(keys, nil),
	}, nil
}

func TestSecurityPageOfLargeAndSecretResults(t *testing.T) {
	config, err := largeAndSecret(aws.Config{Region: "eu-central-1"}, "results", "arn:aws:kms:eu-central-1:111122223333:key/1")
	check.Must(t, err)
	_, err = idempotent.New("create-payment", memory.New(0), config)
	check.Nil(t, err)
}
