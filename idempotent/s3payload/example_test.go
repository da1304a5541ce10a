package s3payload_test

import (
	"log"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/idempotent/s3payload"
)

// Large results go into a bucket, and the record has a reference to them.
func ExampleNew() {
	client := s3.New(s3.Options{Region: "eu-central-1"})
	payloads, err := s3payload.New(client, "results", nil)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("render-report", memory.New(0), &idempotent.Config{Payloads: payloads})
	if err != nil {
		log.Fatal(err)
	}
	_ = x // for idempotent.Wrap
}
