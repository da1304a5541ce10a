package emf_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/emf"
	"github.com/lambda-once/once/idempotent/memory"
)

// Each call writes a line, from which CloudWatch makes the metrics. On Lambda it goes to
// os.Stdout, which is the default.
func ExampleNew() {
	var lines bytes.Buffer
	metrics, err := emf.New(&emf.Options{Namespace: "Payments", Writer: &lines})
	if err != nil {
		log.Fatal(err)
	}
	x, err := idempotent.New("create-payment", memory.New(0), &idempotent.Config{Observer: metrics})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: "p-1"}, func(context.Context) (string, error) {
			return "receipt", nil
		}); err != nil {
			log.Fatal(err)
		}
	}
	for line := range strings.Lines(lines.String()) {
		fmt.Println(strings.Contains(line, `"Namespace":"Payments"`), strings.Contains(line, `"outcome":"replayed"`))
	}
	// Output:
	// true false
	// true true
}
