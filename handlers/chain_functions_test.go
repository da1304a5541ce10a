package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// Two functions that get one message and send on never send with one key.
func TestChainFansOut(t *testing.T) {
	store := memory.New(0)
	var sent posted
	event := marshal(t, events.SNSEvent{Records: []events.SNSEventRecord{{SNS: notification("n0", "root:placed", `{}`)}}})
	for _, name := range []string{"bill", "ship"} {
		handler := handlers.SNS(operation(t, store, name), nil, func(ctx context.Context, _ handlers.SNSMessage[order]) error {
			sent.send(ctx, "done")
			return nil
		}, nil)
		_, err := deliver(t.Context(), handler, event)
		check.Must(t, err)
	}
	check.Slice(t, sent.keys, []string{"root:placed:bill#done", "root:placed:ship#done"})
}

// A function that takes over from one that hangs sends with its keys.
func TestChainKeysOutliveATakeover(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "order")
	synctest.Test(t, func(t *testing.T) {
		var sent posted
		handler := handlers.Invoke(operation(t, memory.New(0), "order"), func(id string) (idempotent.Key, error) { return idempotent.Key{ID: id}, nil },
			func(ctx context.Context, id string) (bool, error) {
				sent.send(ctx, "reserve")
				claim, _ := idempotent.FromContext(ctx)
				if !claim.Takeover() {
					time.Sleep(time.Minute) // whatever ctx says
				}
				return claim.Takeover(), nil
			})
		hung := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := handler(ctx, "o0")
			hung <- err
		}()
		time.Sleep(10 * time.Second)
		tookOver, err := handler(within(t, time.Minute), "o0")
		check.Nil(t, err)
		check.True(t, tookOver)
		check.Equal(t, len(sent.keys), 2)
		check.Equal(t, sent.keys[0], sent.keys[1])
		check.Nil(t, <-hung, "the first gets what the second has stored")
	})
}
