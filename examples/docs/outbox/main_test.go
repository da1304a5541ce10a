package main

import (
	"os"
	"testing"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/dynamo/outbox"
	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/local/dynamodblocal"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }

func TestOrderHasOneMessage(t *testing.T) {
	client, records := dynamodblocal.NewTable(t)
	_, orders := dynamodblocal.NewTable(t)
	messages := "messages-" + records
	if err := outbox.CreateTable(t.Context(), client, messages); err != nil {
		t.Fatal(err)
	}
	store, err := dynamo.New(client, records, &dynamo.Options{Outbox: messages})
	if err != nil {
		t.Fatal(err)
	}
	x, err := idempotent.New("place-order", store, nil)
	if err != nil {
		t.Fatal(err)
	}
	place := handlers.Invoke(x, key, shop{orders}.place)
	for range 2 {
		if _, err := place(t.Context(), order{ID: "o-1", Quantity: 2}); err != nil {
			t.Fatal(err)
		}
	}

	box, err := outbox.New(client, messages, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for item, err := range box.Pending(t.Context(), time.Now().Add(time.Minute)) {
		if err != nil || item.Aggregate != "o-1" {
			t.Errorf("%+v, %v", item, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d items in the outbox, want 1", n)
	}
}
