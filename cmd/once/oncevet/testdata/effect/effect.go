// Package effect has effects that a second attempt repeats, and some that it does not.
package effect

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/postgres"
)

type order struct{ ID string }

type app struct {
	x     *idempotent.Executor
	db    *dynamodb.Client
	queue interface {
		SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	}
	topic  *sns.Client
	sql    *sql.DB
	pool   *pgxpool.Pool
	client *http.Client
	fn     *lambda.Client
}

func id(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID, Payload: o}, nil }

func (a *app) handlers() []any {
	return []any{
		idempotent.Wrap(a.x, id, a.put),
		idempotent.WrapEffect(a.x, id, a.send),
		handlers.SQS(a.x, nil, func(ctx context.Context, m handlers.SQSMessage[order]) error {
			_, err := a.topic.Publish(ctx, &sns.PublishInput{Message: aws.String(m.Body.ID)}) // want effect
			return err
		}, nil),
		handlers.SQS(a.x, nil, func(ctx context.Context, m handlers.SQSMessage[order]) error {
			_, err := idempotent.Step(ctx, "publish", func(ctx context.Context) (string, error) { // near effect
				_, err := a.topic.Publish(ctx, &sns.PublishInput{Message: aws.String(m.Body.ID)})
				return "", err
			})
			return err
		}, nil),
		httpapi.APIGatewayV2(a.x, httpapi.NoIdentity(), a.api, nil),
		httpapi.Middleware(a.x, httpapi.NoIdentity(), nil)(http.HandlerFunc(a.serve)),
		handlers.Invoke(a.x, id, a.rows),
		handlers.Invoke(a.x, id, a.pgx),
		handlers.Invoke(a.x, id, a.invoke),
		durably(a),
	}
}

func (a *app) put(ctx context.Context, o order) (string, error) {
	in := &dynamodb.PutItemInput{TableName: aws.String("orders")}
	if _, err := a.db.PutItem(ctx, in); err != nil { // want effect
		return "", err
	}
	once := &dynamodb.PutItemInput{TableName: aws.String("orders")}
	once.ConditionExpression = aws.String("attribute_not_exists(id)")
	if _, err := a.db.PutItem(ctx, once); err != nil { // near effect
		return "", err
	}
	_, err := a.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("orders")}) // near effect
	return o.ID, err
}

func (a *app) send(ctx context.Context, o order) error {
	if err := a.notify(ctx, o); err != nil {
		return err
	}
	return a.notifyOnce(ctx, o, idempotent.DownstreamKey(ctx, "notify"))
}

func (a *app) notify(ctx context.Context, o order) error {
	_, err := a.queue.SendMessage(ctx, &sqs.SendMessageInput{MessageBody: aws.String(o.ID)}) // want effect
	return err
}

func (a *app) notifyOnce(ctx context.Context, o order, key string) error {
	_, err := a.queue.SendMessage(ctx, &sqs.SendMessageInput{MessageBody: aws.String(o.ID + key)}) // near effect
	return err
}

func (a *app) api(ctx context.Context, r events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://provider.example/charges", bytes.NewBufferString(r.Body))
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	if _, err := a.client.Do(request); err != nil { // want effect
		return events.APIGatewayV2HTTPResponse{}, err
	}
	keyed, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://provider.example/charges", bytes.NewBufferString(r.Body))
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	keyed.Header.Set("Provider-Key", idempotent.DownstreamKey(ctx, "charge"))
	if _, err = a.client.Do(keyed); err != nil { // near effect
		return events.APIGatewayV2HTTPResponse{}, err
	}
	fresh, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://provider.example/charges", bytes.NewBufferString(r.Body))
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	key := rand.Text()
	fresh.Header.Set("Idempotency-Key", key)
	_, err = a.client.Do(fresh) // want effect
	return events.APIGatewayV2HTTPResponse{StatusCode: 201}, err
}

func (a *app) serve(w http.ResponseWriter, r *http.Request) {
	if _, err := a.client.Get("https://provider.example/rates"); err != nil { // near effect
		return
	}
	if _, err := a.client.Post("https://provider.example/charges", "", r.Body); err != nil { // want effect
		w.WriteHeader(http.StatusBadGateway)
	}
}

func (a *app) rows(ctx context.Context, o order) (string, error) {
	if _, err := a.sql.ExecContext(ctx, "INSERT INTO orders VALUES ($1)", o.ID); err != nil { // want effect
		return "", err
	}
	if _, err := a.sql.ExecContext(ctx, "INSERT INTO orders VALUES ($1) ON CONFLICT DO NOTHING", o.ID); err != nil { // near effect
		return "", err
	}
	return "", a.sql.QueryRowContext(ctx, "SELECT id FROM orders").Err() // near effect
}

func (a *app) pgx(ctx context.Context, o order) (string, error) {
	const debit = `UPDATE accounts SET balance = balance - 1 WHERE id = $1`
	if _, err := a.pool.Exec(ctx, debit, o.ID); err != nil { // want effect
		return "", err
	}
	mine, err := a.pool.Begin(ctx)
	if err != nil {
		return "", err
	}
	if _, err := mine.Exec(ctx, debit, o.ID); err != nil { // want effect
		return "", err
	}
	tx, err := postgres.Transaction(ctx)
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, debit, o.ID) // near effect
	return "", err
}

func (a *app) invoke(ctx context.Context, o order) (string, error) {
	if _, err := a.fn.Invoke(ctx, &lambda.InvokeInput{Payload: []byte(o.ID)}); err != nil { // want effect
		return "", err
	}
	if _, err := a.fn.Invoke(ctx, &lambda.InvokeInput{DurableExecutionName: aws.String(rand.Text())}); err != nil { // want effect
		return "", err
	}
	_, err := a.fn.Invoke(ctx, &lambda.InvokeInput{Payload: []byte(o.ID), DurableExecutionName: &o.ID}) // near effect
	return "", err
}

// A person decides on a second attempt.
func neverAgain(store driver.Store, a *app) (any, error) {
	x, err := idempotent.New("charge", store, &idempotent.Config{MaxAttempts: 1})
	if err != nil {
		return nil, err
	}
	return idempotent.WrapEffect(x, id, func(ctx context.Context, o order) error {
		_, err := a.db.PutItem(ctx, &dynamodb.PutItemInput{}) // near effect
		return err
	}), nil
}

func durably(a *app) any {
	return idempotent.WrapEffect(a.x, id, func(ctx context.Context, o order) error {
		//oncevet:ignore effect the table has a trigger that ignores a second row
		_, err := a.db.PutItem(ctx, &dynamodb.PutItemInput{}) // near effect
		if err != nil {
			return err
		}
		//oncevet:ignore effect
		_, err = a.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{}) // want effect
		return err
	})
}

// The request may have a condition: it comes from another package.
func (a *app) Pass(in *dynamodb.PutItemInput) any {
	return idempotent.WrapEffect(a.x, id, func(ctx context.Context, o order) error {
		_, err := a.db.PutItem(ctx, in) // near effect
		return err
	})
}
