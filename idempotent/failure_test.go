package idempotent_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
)

// A failure that a tool has stored is replayed as one of a handler's is.
func TestEncodedFailureIsReplayed(t *testing.T) {
	long := strings.Repeat("é", 4<<10)
	for _, want := range []idempotent.ReplayedError{
		{Type: "CardDeclined", Message: "no money", Code: "declined"},
		{Message: long},
	} {
		data, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		store := memory.New(0)
		id, err := theKey.RecordID("op")
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(driver.Record{ID: id, Status: driver.Failed, Data: data, Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		_, err = idempotent.Do(t.Context(), newExecutor(t, store, nil), theKey, func(context.Context) (string, error) {
			t.Error("it ran")
			return "", nil
		})
		want.Message = want.Message[:min(len(want.Message), 4<<10)]
		var got *idempotent.ReplayedError
		if !errors.As(err, &got) || !reflect.DeepEqual(*got, want) {
			t.Errorf("replayed %.80v, want %.80v", err, &want)
		}
	}
}
