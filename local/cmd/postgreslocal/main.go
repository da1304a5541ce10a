// Command postgreslocal runs a command against a PostgreSQL server:
//
//	go run ./local/cmd/postgreslocal -- go test ./...
//
// It finds or starts a server, as package postgreslocal describes, and runs the command
// with the server's POSTGRESLOCAL_URL in its environment. It forwards signals, stops the
// server and exits with the code of the command. Without a command, it prints the
// connection string and runs until it is interrupted.
package main

import (
	"fmt"
	"os"

	"github.com/lambda-once/once/internal/serving"
	"github.com/lambda-once/once/local/postgreslocal"
)

func main() {
	code, err := serving.Exec(os.Args[1:], postgreslocal.Start, (*postgreslocal.Server).URL)
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgreslocal:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
