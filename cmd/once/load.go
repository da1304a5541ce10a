package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/lambda-once/once/cmd/once/internal/cli"
	"github.com/lambda-once/once/cmd/once/internal/store"
	"github.com/lambda-once/once/internal/jmespath"
)

const aboutLoad = `
Sends an event with each of --keys to a deployed function, --duplicates times at once
and after the last answer once more, and counts the answers that are equal in status
and body. TARGET is the name or ARN of a function, or a URL, which gets a POST with an
Idempotency-Key. $KEY in the event stands for the key.

	once load orders --event order.json --keys 20 --charge chargeId

All that the function does, it does: use a stage whose effects are harmless. --charge
selects what differs between two charges, in the JSON of the body or the result. load
ends with 1 if answers with one key are different or have two charges, if none succeeds,
or if --charge finds none. It needs the permission lambda:InvokeFunction.
`

// An answer is the response of HTTP, or 200 and the result of a function.
type answer struct {
	status int    // 0 if there is none
	body   string // or why there is none
}

func load(ctx context.Context, c *cli.Call) error {
	var dynamoDB store.DynamoDBFlags
	dynamoDB.AddClient(c.FlagSet)
	file := c.String("event", "", "a `file` with the event, or the body; - is standard input")
	keys := c.Int("keys", 1, "the `number` of keys, ten at a time")
	duplicates := c.Int("duplicates", 3, "the `number` of requests at once with each key")
	charge := c.String("charge", "null", "a JMESPath `expression` for what an answer says of a charge")
	headers := http.Header{"Content-Type": {"application/json"}}
	c.Func("header", "a header of each request to a URL, as `name:value`", func(text string) error {
		name, value, found := strings.Cut(text, ":")
		if !found {
			return errors.New("it has no colon")
		}
		headers.Set(name, strings.TrimSpace(value))
		return nil
	})
	rest, err := c.Arguments(1)
	if err != nil {
		return err
	}
	if len(rest) == 0 || *file == "" || *keys < 1 || *duplicates < 1 {
		return cli.Endf(cli.CodeUsage, "give a TARGET, its --event, and --keys and --duplicates from 1")
	}
	event, err := readFile(*file, c.In)
	charged, invalid := jmespath.Compile(jmespath.Exact, *charge, true)
	if err := cmp.Or(err, invalid); err != nil {
		return cli.Misuse(err)
	}
	target := rest[0]
	send := func(ctx context.Context, url, key, body string) answer { return post(ctx, url, key, body, headers) }
	if !strings.HasPrefix(target, "http://") && !strings.HasPrefix(target, "https://") {
		if *keys > 1 && !strings.Contains(string(event), "$KEY") {
			return cli.Endf(cli.CodeUsage, "without $KEY in the event, all have one key")
		}
		cfg, err := dynamoDB.Load(ctx, &store.Waits{Timeout: 15 * time.Minute, To: c.Err}) // the function's own, at most
		if err != nil {
			return err
		}
		client := lambda.NewFromConfig(cfg, func(o *lambda.Options) { o.RetryMaxAttempts = 1 })
		send = func(ctx context.Context, target, _, event string) answer { return invoked(ctx, client, target, event) }
	}
	var all sync.WaitGroup
	results, places := make([][]answer, *keys), make(chan struct{}, 10)
	for i := range results {
		places <- struct{}{}
		all.Go(func() {
			key := rand.Text()
			own := strings.ReplaceAll(string(event), "$KEY", key)
			answers := make([]answer, *duplicates)
			var atOnce sync.WaitGroup
			for j := range answers {
				atOnce.Go(func() { answers[j] = send(ctx, target, key, own) })
			}
			atOnce.Wait()
			results[i] = append(answers, send(ctx, target, key, own))
			<-places
		})
	}
	all.Wait()
	counts, failure := map[string]int{}, ""
	for _, answers := range results {
		failure = cmp.Or(failure, count(answers, charged, counts))
	}
	fmt.Fprintf(c.Out, "answers: %d equal, %d different, %d in progress, %d failed\n", counts["equal"], counts["different"], counts["in progress"], counts["failed"])
	if *charge != "null" {
		fmt.Fprintf(c.Out, "charges: %d, and %d keys with more than one\n", counts["charges"], counts["charged again"])
	}
	if failure != "" {
		fmt.Fprintf(c.Err, "a failure: %s\n", failure)
	}
	if counts["different"] > 0 || counts["charged again"] > 0 || counts["succeeded"] == 0 || *charge != "null" && counts["charges"] == 0 || ctx.Err() != nil {
		return &cli.Ending{Code: cli.CodeFailed} // the counts say it
	}
	return nil
}

// count counts the answers with one key, and the charges in them. It returns the first
// failure.
func count(answers []answer, charged *jmespath.Expression, counts map[string]int) (failure string) {
	first, charges := answer{}, map[string]bool{}
	for _, a := range answers {
		switch {
		case a.status == http.StatusConflict:
			counts["in progress"]++
			continue
		case a.status == 0, a.status == http.StatusTooManyRequests, a.status >= http.StatusInternalServerError:
			counts["failed"]++
			failure = cmp.Or(failure, a.failure())
			continue
		}
		if first = cmp.Or(first, a); a.status < http.StatusBadRequest {
			counts["succeeded"]++
		} else {
			failure = cmp.Or(failure, a.failure()) // such as a refused caller, alike at each repetition
		}
		counts[map[bool]string{true: "equal", false: "different"}[a == first]]++
		decoded, err := jmespath.Decode(jmespath.Exact, a.body)
		if value, searchErr := charged.Search(decoded); cmp.Or(err, searchErr) == nil && value != nil {
			charges[fmt.Sprint(value)] = true
		}
	}
	counts["charges"] += len(charges)
	if len(charges) > 1 {
		counts["charged again"]++
	}
	return failure
}

// failure leaves out the function's own text, which may contain personal data.
func (a answer) failure() string {
	if a.status == 0 {
		return a.body
	}
	return fmt.Sprint("HTTP ", a.status)
}

func invoked(ctx context.Context, client *lambda.Client, function, event string) answer {
	out, err := client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: []byte(event)})
	if err != nil {
		return answer{body: err.Error()}
	}
	var returned struct {
		StatusCode      int
		Body, ErrorType string
	}
	_ = json.Unmarshal(out.Payload, &returned) // it may be of any type
	switch {
	case out.FunctionError != nil && returned.ErrorType == "InProgressError":
		return answer{status: http.StatusConflict}
	case out.FunctionError != nil:
		return answer{body: "the function ended with a " + returned.ErrorType}
	case returned.StatusCode != 0: // the headers say which is a replay, so two differ
		return answer{returned.StatusCode, returned.Body}
	}
	return answer{http.StatusOK, string(out.Payload)}
}

func post(ctx context.Context, url, key, body string, headers http.Header) answer {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return answer{body: err.Error()}
	}
	r.Header = headers.Clone()
	r.Header.Set("Idempotency-Key", key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{body: err.Error()}
	}
	text, err := io.ReadAll(response.Body)
	if err = cmp.Or(err, response.Body.Close()); err != nil {
		return answer{body: err.Error()}
	}
	return answer{response.StatusCode, string(text)}
}
