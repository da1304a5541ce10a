package dynamodblocal

import "github.com/lambda-once/once/local/serving"

// Exec implements the command dynamodblocal. It runs args with a server in their
// environment, and returns the exit code. It drops a leading "--", and forwards
// signals. Without args, it prints the endpoint and waits for a signal.
func Exec(args []string) (code int, err error) {
	return serving.Exec(args, startWithLog, (*Server).Endpoint)
}
