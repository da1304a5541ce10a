package dynamo

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/driver"
)

// discard accepts every write: what remains is the store's own work.
type discard struct{ Client }

func (discard) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

func (discard) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

func BenchmarkCreate(b *testing.B) {
	s, err := New(discard{}, "records", nil)
	if err != nil {
		b.Fatal(err)
	}
	r := claim("op#0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := s.Create(b.Context(), r, now, nil); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComplete(b *testing.B) {
	s, err := New(discard{}, "records", nil)
	if err != nil {
		b.Fatal(err)
	}
	c := driver.Change{Status: driver.Completed, Data: []byte(`{"id":1}`), Expires: now}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := s.Change(b.Context(), fence("op#1"), c); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
