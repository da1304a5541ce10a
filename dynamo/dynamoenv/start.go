package dynamoenv

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/lambda-once/once/idempotent"
)

// Start serves a Lambda function that runs fn once for each key. A request with a time in it
// would be refused as reused, because a key without a Payload and a Fingerprint compares
// the whole request with that of its first use: see [idempotent.ErrKeyReused]. The key
// function of such a request names a Payload that is the same in each repetition.
//
// Start does not return. It calls [Open], [idempotent.New] and [idempotent.Wrap] with all
// defaults, and lambda.Start. A function with an [idempotent.Config], with batches of
// events, or with nothing to compare calls them itself.
//
// An error of Open or New is logged, and ends the process with status 1. Lambda reports
// the init as failed. Start panics where Wrap does.
func Start[Req, Resp any](operation string, key func(Req) (idempotent.Key, error), fn func(context.Context, Req) (Resp, error)) {
	store, err := Open(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New(operation, store, nil)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(idempotent.Wrap(x, comparing(key), fn))
}

// comparing returns key with the request as the payload, unless key chooses the payload itself.
// Wrap refuses a nil key.
func comparing[Req any](key func(Req) (idempotent.Key, error)) func(Req) (idempotent.Key, error) {
	if key == nil {
		return nil
	}
	return func(request Req) (idempotent.Key, error) {
		k, err := key(request)
		if k.Payload == nil && k.Fingerprint == "" {
			k.Payload = request
		}
		return k, err
	}
}
