package dynamodblocal

import (
	"context"

	"github.com/lambda-once/once/local/fetch"
	"github.com/lambda-once/once/local/serving"
)

// The vendor's URL carries a date and the archive under it does not change;
// the one that ends in "latest" does. Its checksum is the one that Amazon
// publishes beside it.
func sources() []fetch.Source {
	return []fetch.Source{
		{
			Version: "3.3.1",
			SHA256:  "f80bcec477f85f57e2c77f8d54aa6b672a8403fceff0c450560aee1cf6c21163",
			Fetch:   fetch.Download("https://d1ni2b6xgvw0s0.cloudfront.net/v2.x/dynamodb_local_2026-07-31.tar.gz"),
		},
		{
			Version: "1.25.1",
			SHA256:  "3503ffac19f183407909fecdacf4db51ab1fdad1da7b2f177016670b2d80e4b9",
			Prefix:  "package/emulator/",
			Fetch:   fetch.NpmPack("amplify-dynamodb-simulator", "2.9.30"),
		},
	}
}

func install(ctx context.Context, l serving.Launch) (string, error) {
	return fetch.Program{
		Name:     "DynamoDB Local",
		CacheDir: l.CacheDir,
		File:     "DynamoDBLocal.jar",
		Log:      l.Log,
		Sources:  sources(),
	}.Install(ctx)
}
