// Command till is a Lambda function for the tests of package crashtest. It uses
// no library: it charges a card, and then files the receipt.
//
// The event is JSON: {"sale": "s-1"}. Environment:
//
//	PROVIDER_URL  the server of both requests
//	TILL_MODE     "naive" (default): sends no idempotency key; "keyed": sends
//	              the same in every attempt; "varies": the same, and answers
//	              differently each time; "errs": fails after the charge;
//	              "strays": also calls a server on a remote machine
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(sell) }

type event struct {
	Sale string `json:"sale"`
}

func sell(ctx context.Context, e event) (string, error) {
	mode := os.Getenv("TILL_MODE")
	base := os.Getenv("PROVIDER_URL")
	if mode == "strays" {
		// It is refused there, and nothing may notice.
		_ = post(ctx, "http://elsewhere.invalid/log", e.Sale)
	}
	for _, path := range []string{"/charges/", "/receipts/"} {
		key := ""
		if mode == "keyed" || mode == "varies" {
			key = e.Sale
		}
		if err := post(ctx, base+path+e.Sale, key); err != nil {
			return "", err
		}
		if mode == "errs" {
			return "", &ClosedError{}
		}
	}
	if mode == "varies" {
		return rand.Text(), nil
	}
	return "sold", nil
}

// A ClosedError is a final error of the function.
type ClosedError struct{}

func (*ClosedError) Error() string { return "the till is closed" }

func post(ctx context.Context, url, key string) error {
	in, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	in.Header.Set("Idempotency-Key", key)
	out, err := http.DefaultClient.Do(in)
	if err != nil {
		return err
	}
	if err := out.Body.Close(); err != nil {
		return err
	}
	if out.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s: %s", url, out.Status)
	}
	return nil
}
