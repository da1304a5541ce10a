package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/lambda-once/once/handlers/durablefunc"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

type durableService struct{ client *sdk.Client } // "github.com/aws/aws-sdk-go-v2/service/lambda"

func (s durableService) GetDurableExecution(ctx context.Context, arn string) (durablefunc.Execution, error) {
	out, err := s.client.GetDurableExecution(ctx, &sdk.GetDurableExecutionInput{DurableExecutionArn: &arn})
	if err != nil {
		return durablefunc.Execution{}, err
	}
	return durablefunc.Execution{Status: string(out.Status), Result: aws.ToString(out.Result)}, nil
}

func (s durableService) GetDurableExecutionState(ctx context.Context, arn, token, marker string) (durablefunc.State, error) {
	out, err := s.client.GetDurableExecutionState(ctx, &sdk.GetDurableExecutionStateInput{
		DurableExecutionArn: &arn, CheckpointToken: &token, Marker: &marker,
	})
	if err != nil {
		return durablefunc.State{}, err
	}
	page := durablefunc.State{NextMarker: aws.ToString(out.NextMarker)}
	for _, o := range out.Operations {
		operation := durablefunc.Operation{Type: string(o.Type), StartTimestamp: aws.ToTime(o.StartTimestamp)}
		if o.ExecutionDetails != nil {
			operation.InputPayload = aws.ToString(o.ExecutionDetails.InputPayload)
		}
		page.Operations = append(page.Operations, operation)
	}
	return page, nil
}

// transport answers the requests of the SDK's client.
type transport func(path string) (status int, body string)

func (t transport) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	status, body := t(r.URL.EscapedPath())
	if status == http.StatusNotFound {
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
	}
	w.WriteHeader(status)
	_, err := io.WriteString(w, body)
	return w.Result(), err
}

func (t transport) service() durableService {
	return durableService{sdk.New(sdk.Options{
		Region: "eu-central-1", HTTPClient: t, RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})}
}

const durableARN = "arn:aws:lambda:eu-central-1:123456789012:function:pay:1/durable-execution/first/1a2b"

func TestDurablePageAsksTheService(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   string // the duplicate's response, or its error
	}{
		"paused":    {200, `{"Status":"PAUSED"}`, "InProgressError"},
		"succeeded": {200, `{"Status":"SUCCEEDED","Result":"\"receipt\""}`, `{"Status":"SUCCEEDED","Result":"\"receipt\""}`},
		"without":   {200, `{"Status":"SUCCEEDED"}`, "OutcomeUnknownError"},
		"timed out": {200, `{"Status":"TIMED_OUT"}`, "it runs"},
		"unknown":   {404, `{"Message":"no execution"}`, "it runs"},
		"denied":    {403, `{"Message":"denied"}`, "InProgressError"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)))
				x := executor(t, "pay", nil)
				service := transport(func(path string) (int, string) {
					check.Contains(t, path, "durable-execution%2Ffirst")
					return test.status, test.body
				}).service()
				response := `{"Status":"PENDING"}`
				h := durablePayments(x, service, func(context.Context, []byte) ([]byte, error) { return []byte(response), nil })
				_, err := h.Invoke(t.Context(), durableRequest(durableARN))
				check.Must(t, err)
				time.Sleep(25 * time.Hour)
				response = "it runs"
				got, err := h.Invoke(t.Context(), durableRequest("arn:another"))
				var unfit *durablefunc.ResponseError
				switch {
				case errors.As(err, &unfit):
					got = []byte("it runs")
				case errors.Is(err, idempotent.ErrInProgress):
					got = []byte("InProgressError")
				}
				check.Contains(t, string(got), test.want, err)
			})
		})
	}
}

func TestDurablePageFetchesTheEvent(t *testing.T) {
	service := transport(func(path string) (int, string) {
		check.True(t, strings.HasSuffix(path, "/state"), path)
		// A fixed start would be older than the timeout of the execution one day.
		return 200, fmt.Sprintf(`{"Operations":[{"Id":"0","Type":"EXECUTION","Status":"STARTED","StartTimestamp":%d,"ExecutionDetails":{"InputPayload":"{\"ID\":\"o-1\"}"}}]}`,
			time.Now().Unix())
	}).service()
	x := executor(t, "pay", nil)
	h := durablePayments(x, service, func(context.Context, []byte) ([]byte, error) {
		return []byte(`{"Status":"SUCCEEDED","Result":"1"}`), nil
	})
	request, err := json.Marshal(map[string]any{
		"DurableExecutionArn": durableARN, "CheckpointToken": "token",
		"InitialExecutionState": map[string]any{"Operations": []any{}, "NextMarker": "page-2"},
	})
	check.Must(t, err)
	got, err := h.Invoke(t.Context(), request)
	check.Nil(t, err)
	check.Contains(t, string(got), "SUCCEEDED")
}
