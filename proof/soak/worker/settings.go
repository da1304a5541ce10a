package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/idempotent"
)

// settings are what the environment of a worker says.
type settings struct {
	records, effects string // tables
	endpoint         string // with the weather
	direct           string // without
	timeout          time.Duration
	// Of batches.
	concurrency, ahead, unrecorded int
	config                         idempotent.Config
	store                          dynamo.Options
}

func settingsFromEnv() (s settings, err error) {
	s.config.ReadFirst = os.Getenv("READ_FIRST") != ""
	s.records, s.effects = os.Getenv("RECORDS_TABLE"), os.Getenv("EFFECTS_TABLE")
	s.endpoint, s.direct = os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), os.Getenv("DIRECT_ENDPOINT")
	return s, errors.Join(
		duration(&s.timeout, "TIMEOUT"),
		duration(&s.config.Lease, "LEASE"),
		duration(&s.config.ClockSkew, "SKEW"),
		duration(&s.config.Reserve, "RESERVE"),
		duration(&s.config.Wait, "WAIT"),
		number(&s.config.CacheEntries, "CACHE"),
		number(&s.concurrency, "CONCURRENCY"),
		number(&s.ahead, "AHEAD"),
		number(&s.unrecorded, "UNRECORDED"),
		number(&s.store.Group, "GROUP"),
	)
}

func duration(field *time.Duration, name string) (err error) {
	if text := os.Getenv(name); text != "" {
		if *field, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func number(field *int, name string) (err error) {
	if text := os.Getenv(name); text != "" {
		if *field, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// newClient does not use the SDK's module config, which this module does not
// require otherwise.
func newClient(endpoint string, connections *http.Transport) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       "us-east-1",
		HTTPClient:   &http.Client{Transport: connections},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
}
