package dynamo

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/idempotent/adapter"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
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
	check.Must(b, err)
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
	check.Must(b, err)
	c := driver.Change{Status: driver.Completed, Data: []byte(`{"id":1}`), Expires: now}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := s.Change(b.Context(), fence("op#1"), c); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTen makes ten claims at once and then ten completions, with a client
// whose requests end in this process.
func BenchmarkTen(b *testing.B) {
	for name, flights := range map[string]int{"alone": 0, "shared": 1} {
		b.Run(name, func(b *testing.B) {
			responses := encode(responsesBody{Responses: slices.Repeat([]json.RawMessage{[]byte("{}")}, 10)})
			s, err := New(wireClient(func(r *wire.Request) (*wire.Response, error) {
				if r.Operation == opBatch {
					return answering(http.StatusOK, string(responses))(r)
				}
				return answering(http.StatusOK, "{}")(r)
			}), "records", &Options{Group: flights})
			check.Must(b, err)
			ten := func(write func(ctx context.Context, i int) (driver.Record, bool, error)) {
				siblings := new(countdown)
				siblings.left.Store(10)
				ctx := adapter.With(b.Context(), adapter.Sibling(siblings.Arrive))
				var wg sync.WaitGroup
				for i := range 10 {
					wg.Go(func() {
						_, ok, err := write(ctx, i)
						check.True(b, ok)
						check.Nil(b, err)
					})
				}
				wg.Wait()
			}
			finish := driver.Change{Status: driver.Completed, Data: []byte(`{"id":1}`), Expires: now}
			b.ReportAllocs()
			for b.Loop() {
				ten(func(ctx context.Context, i int) (driver.Record, bool, error) {
					return s.Create(ctx, claim(id(i)), now, nil)
				})
				ten(func(ctx context.Context, i int) (driver.Record, bool, error) {
					return s.Change(ctx, fence(id(i)), finish)
				})
			}
		})
	}
}
