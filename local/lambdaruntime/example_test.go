package lambdaruntime_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/lambda-once/once/local/lambdaruntime"
)

// The function in the current folder receives one event twice, in two processes. Tests
// use BuildTest and StartTest instead.
func ExampleStart() {
	ctx := context.Background()
	binary, err := lambdaruntime.Build(ctx, ".", ".")
	if err != nil {
		log.Fatal(err)
	}
	runtime, err := lambdaruntime.Start(ctx, lambdaruntime.Function{
		Binary:       binary,
		Environments: 2,
		Timeout:      10 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := runtime.Close(); err != nil {
			log.Print(err)
		}
	}()
	for i := range runtime.Environments() {
		response, err := runtime.Environment(i).Invoke(ctx, []byte(`{"paymentId": "p-1"}`))
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Printf("%s\n", response.Payload)
	}
}
