// Command dynamodblocal runs a command against DynamoDB Local:
//
//	go run ./local/cmd/dynamodblocal -- go test ./...
//
// It finds or starts a server, as package dynamodblocal describes, and runs the command
// with the server in its environment. It forwards signals, stops the server and exits
// with the code of the command. Without a command, it prints the endpoint and runs until
// it is interrupted.
package main

import (
	"fmt"
	"os"

	"github.com/lambda-once/once/local/dynamodblocal"
)

func main() {
	code, err := dynamodblocal.Exec(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "dynamodblocal:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
