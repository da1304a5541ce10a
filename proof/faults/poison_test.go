package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/wire"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// All functions return before the first completion can be recorded, so the first crash
// may repeat them all.
func TestMessageThatEndsItsProcessRepeatsItsNeighborsOnce(t *testing.T) {
	t.Parallel()
	const neighbors, unrecorded = 11, 12
	for _, args := range [][]string{{"-group=0", "-ahead=12"}, {"-group=1", "-ahead=12"}, {"-group=1"}, {"-group=1", "-ahead=-1"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			s, said := newScene(t), &output{more: make(chan struct{})}
			// The functions return within one round trip.
			args = append(args, "-endpoint="+behind(t, distant), "-trigger=batch", fmt.Sprint("-unrecorded=", unrecorded))
			f := s.deploy(lambdaruntime.Function{Log: said}, args...)
			placed := 0
			var repeated []int // by a crash, as the delivery after it shows
			for delivery := 1; delivery <= 5; delivery++ {
				_, err := f.Invoke(t.Context(), poisoned(t, neighbors, delivery))
				if _, ok := errors.AsType[*lambdaruntime.CrashedError](err); !ok {
					t.Fatalf("delivery %d: got %v, want a crash", delivery, err)
				}
				if !said.has(fmt.Sprint("exits in delivery ", delivery)) { // the last line of its process
					t.Fatalf("delivery %d: another message ended the process", delivery)
				}
				before := placed
				placed = len(said.having("placed k"))
				if delivery > 1 {
					repeated = append(repeated, placed-before)
				}
				for _, r := range s.scan(s.records) {
					if status, ok := r["status"].(*types.AttributeValueMemberS); ok && status.Value == "INPROGRESS" {
						lapse(t, s.client, s.records, r["id"])
					}
				}
			}
			t.Logf("repeated: %v", repeated)
			for crash, n := range repeated {
				if limit := map[bool]int{true: unrecorded - 1, false: 2}[crash == 0]; n > limit {
					t.Errorf("crash %d repeats %d functions, want at most %d", crash+1, n, limit)
				}
			}
		})
	}
}

// distant delays a request. It does not send those of a process that has ended.
func distant(r *wire.Request) (*wire.Response, error) {
	select {
	case <-time.After(20 * time.Millisecond):
		return r.Send()
	case <-r.Context.Done():
		return nil, wire.ErrCut
	}
}

// poisoned returns a batch whose last message ends the process.
func poisoned(t *testing.T, neighbors, delivery int) []byte {
	t.Helper()
	var records []string
	for i := range neighbors + 1 {
		finish := "print"
		if i == neighbors {
			finish = "exit"
		}
		body, err := json.Marshal(fmt.Sprintf(`{"key":"k%d","finish":%q,"addr":"%d"}`, i, finish, delivery))
		check.Must(t, err)
		records = append(records, fmt.Sprintf(`{"messageId":"m%d","body":%s,"eventSource":"aws:sqs","attributes":{"ApproximateReceiveCount":"%d"}}`, i, body, delivery))
	}
	return []byte(`{"Records":[` + strings.Join(records, ",") + `]}`)
}
