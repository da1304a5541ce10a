// Package context has contexts that handlers make themselves.
package context

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent"
)

type order struct{ ID string }

func key(o order) (idempotent.Key, error) { return idempotent.Key{ID: o.ID}, nil }

func Handlers(x *idempotent.Executor, db *dynamodb.Client) []any {
	return []any{
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error {
			_, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{}) // want
			if err != nil {
				return err
			}
			defer func() {
				cleanup, cancel := context.WithTimeout(context.Background(), time.Second) // near
				defer cancel()
				_, _ = db.DeleteItem(cleanup, &dynamodb.DeleteItemInput{})
			}()
			_, err = db.GetItem(context.WithoutCancel(ctx), &dynamodb.GetItemInput{}) // near
			return err
		}),
		idempotent.WrapEffect(x, key, func(ctx context.Context, o order) error { return read(ctx, db) }),
	}
}

func read(ctx context.Context, db *dynamodb.Client) error {
	bounded, cancel := context.WithTimeout(context.TODO(), time.Second) // want
	defer cancel()
	_, err := db.GetItem(bounded, &dynamodb.GetItemInput{})
	return err
}

func SetUp(db *dynamodb.Client) error {
	_, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{}) // near
	return err
}
