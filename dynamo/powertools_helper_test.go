package dynamo

import (
	"embed"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What @aws-lambda-powertools/idempotency 2.35.0 for TypeScript sends, as it
// was recorded, with names for what differs between calls.
//
//go:embed testdata/powertools/*.json
var powertoolsRequests embed.FS

// powertools is a function with Powertools for TypeScript, on the table of a
// store. It has a clock of its own, so that tests need not wait for a lease.
type powertools struct {
	t         *testing.T
	table     string
	retention time.Duration
}

func newPowertools(t *testing.T, s *Store) powertools {
	return powertools{t, s.table, time.Hour}
}

// claims reports whether it becomes the owner at that time, for a second.
func (p powertools) claims(id string, at time.Time) bool {
	p.t.Helper()
	return p.send("PutItem", "claim", id, at, "")
}

// completes a record, whoever owns it. data is an attribute value as DynamoDB
// reads it.
func (p powertools) completes(id, data string) {
	p.t.Helper()
	p.send("UpdateItem", "complete", id, time.Now(), data)
}

// fails deletes a record, whoever owns it.
func (p powertools) fails(id string) {
	p.t.Helper()
	p.send("DeleteItem", "fail", id, time.Now(), "")
}

// send reports whether the condition of the request held.
func (p powertools) send(operation, name, id string, at time.Time, data string) bool {
	p.t.Helper()
	text, err := powertoolsRequests.ReadFile("testdata/powertools/" + name + ".json")
	if err != nil {
		p.t.Fatal(err)
	}
	body := strings.NewReplacer(
		"{table}", p.table, "{id}", id, "{data}", data,
		"{now_s}", strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', -1, 64), "{now_ms}", strconv.FormatInt(at.UnixMilli(), 10),
		"{expires_s}", strconv.FormatInt(at.Add(p.retention).Unix(), 10), "{lease_ms}", strconv.FormatInt(at.Add(time.Second).UnixMilli(), 10),
	).Replace(string(text))
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if answer.StatusCode == http.StatusOK {
		return true
	}
	if !strings.Contains(string(said), "ConditionalCheckFailedException") {
		p.t.Fatalf("%s: %s", operation, said)
	}
	return false
}
