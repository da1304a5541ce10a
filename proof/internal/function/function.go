// Package function has the clients of DynamoDB Local that the compiled functions of the
// tests share. They do not use the SDK's module config, which this module does not require otherwise.
package function

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Client returns a client of the server that AWS_ENDPOINT_URL_DYNAMODB names.
func Client() *dynamodb.Client { return ClientOf(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), nil) }

// ClientOf returns a client of a server, which accepts all credentials. If http is nil, the
// client has connections of its own.
func ClientOf(endpoint string, http dynamodb.HTTPClient) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint,
		Region:       "us-east-1",
		HTTPClient:   http,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}
