// Command till is a Lambda function for the tests of package crashtest. It uses
// no library: it charges a card, and then files the receipt.
//
// The event is JSON: {"sale": "s-1"}. Environment:
//
//	PROVIDER_URL  the server of both requests
//	TILL_MODE     "naive" (default): sends no idempotency key; "keyed": sends
//	              the same in every attempt; "varies": the same, and answers
//	              differently each time; "errs": fails after the charge;
//	              "numbers": charges at a path with a new number each time;
//	              "replays": fails as Once replays a stored failure;
//	              "strays": also calls a server on a remote machine;
//	              "wanders": calls a new path each time
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"

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
	switch mode {
	case "numbers":
		base += "/v1/tills/" + rand.Text()[:3] + "7"
	case "wanders":
		base += "/" + strings.Map(letter, rand.Text()[:8])
	case "replays":
		return "", &ReplayedError{}
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

// letter replaces the digits of rand.Text.
func letter(r rune) rune {
	if r < 'A' {
		return r - '2' + 'a'
	}
	return r
}

// A ReplayedError has the name of Once's error.
type ReplayedError struct{ ClosedError }

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
