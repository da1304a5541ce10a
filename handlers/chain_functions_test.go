package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/lambda-once/once/handlers"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// posted collects what handlers send: the chain keys, in order.
type posted struct {
	mu   sync.Mutex
	keys []string
}

func (w *posted) send(ctx context.Context, name string) string {
	key := handlers.ChainAttributes(ctx, name)[handlers.ChainAttribute]
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = append(w.keys, key)
	return key
}

// operation is an executor of its own name on a store that all share.
func operation(t *testing.T, store driver.Store, name string) *idempotent.Executor {
	t.Helper()
	x, err := idempotent.New(name, store, nil)
	check.Must(t, err)
	return x
}

// TestChainOfFunctions: an invoked function sends a message, its consumer a
// notification, and that one's consumer a request. Everything comes twice or
// is tried again, and every function has one effect.
func TestChainOfFunctions(t *testing.T) {
	store := memory.New(0)
	effects := map[string]int{}
	fail := map[string]bool{"order": true, "reserve": true, "notify": true}
	once := func(function string) error {
		if fail[function] {
			delete(fail, function)
			return errors.New("crashed after it had sent")
		}
		effects[function]++
		return nil
	}
	var toQueue, toTopic, toAPI posted

	begin := handlers.Invoke(operation(t, store, "order"), func(id string) (idempotent.Key, error) { return idempotent.Key{ID: id}, nil },
		func(ctx context.Context, id string) (string, error) {
			toQueue.send(ctx, "reserve")
			return id, once("order")
		})
	reserve := handlers.SQS(operation(t, store, "reserve"), nil, func(ctx context.Context, m handlers.SQSMessage[order]) error {
		toTopic.send(ctx, "reserved")
		return once("reserve")
	}, &handlers.SQSOptions{OnFailure: quiet})
	notify := handlers.SNS(operation(t, store, "notify"), nil, func(ctx context.Context, m handlers.SNSMessage[order]) error {
		toAPI.send(ctx, "mail")
		return once("notify")
	}, &handlers.EventOptions{OnFailure: quiet})

	for range 3 { // fails, runs, replays
		if _, err := begin(t.Context(), "o0"); err != nil && len(toQueue.keys) > 1 {
			t.Fatal(err)
		}
	}
	for i, key := range toQueue.keys { // two copies, and one of them again
		m := withAttribute(message(fmt.Sprintf("m%d", i), order{ID: "o0"}), key)
		for range 2 {
			_, err := deliver(t.Context(), reserve, sqsEvent(t, m))
			check.Must(t, err)
		}
	}
	for i, key := range toTopic.keys {
		event := events.SNSEvent{Records: []events.SNSEventRecord{{SNS: notification(fmt.Sprintf("n%d", i), key, `{"id":"o0"}`)}}}
		for range 2 {
			if _, err := deliver(t.Context(), notify, marshal(t, event)); err != nil && len(toAPI.keys) > 1 {
				t.Fatal(err)
			}
		}
	}

	root, _, _ := strings.Cut(toQueue.keys[0], ":")
	for hop, test := range []struct {
		got  []string
		want string
	}{
		{toQueue.keys, root + ":reserve"},
		{toTopic.keys, root + ":reserve:reserve#reserved"},
		{toAPI.keys, root + ":reserve:reserve#reserved:notify#mail"},
	} {
		// Each function ran twice, the second time after a failure.
		check.Equal(t, len(root), 32, hop)
		check.Slice(t, test.got, []string{test.want, test.want}, hop)
	}
	check.Equal(t, effects["order"], 1)
	check.Equal(t, effects["reserve"], 1)
	check.Equal(t, effects["notify"], 1)
}
