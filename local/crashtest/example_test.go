package crashtest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/local/crashtest"
)

type parcel struct{ ID, To string }

func parcelKey(p parcel) (idempotent.Key, error) {
	return idempotent.Key{ID: p.ID, Payload: p}, nil
}

// An Example has no *testing.T, so the documentation quotes a test.
func TestParcelIsShippedOnceWhateverCrashes(t *testing.T) {
	crashtest.RunHandler(t, func() crashtest.Trial {
		labels := map[string]bool{} // the carrier's
		ship := func(ctx context.Context, p parcel) (string, error) {
			crashtest.Effect(ctx, "print label")
			labels[idempotent.DownstreamKey(ctx, "label")] = true
			return "shipped to " + p.To, nil
		}
		return crashtest.Trial{
			Deliver: func(ctx context.Context, store driver.Store) error {
				x, err := idempotent.New("ship-parcel", store, &idempotent.Config{Observer: idempotent.NoObserver{}})
				if err != nil {
					return err
				}
				_, err = idempotent.Wrap(x, parcelKey, ship)(ctx, parcel{ID: "p-1", To: "Ada"})
				return err
			},
			Check: func() error {
				if len(labels) != 1 {
					return fmt.Errorf("%d labels", len(labels))
				}
				return nil
			},
		}
	})
}

func TestDocumentationQuotesTheTest(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "func TestParcel", "\n}\n"
	_, after, ok := strings.Cut(strings.ReplaceAll(string(doc), "\n//\t", "\n"), begin)
	test, _, closed := strings.Cut(after, end)
	if !ok || !closed || !strings.Contains(string(code), begin+test+end) {
		t.Error("doc.go does not quote the test")
	}
}
