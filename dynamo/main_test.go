package dynamo_test

import (
	"os"
	"testing"

	"github.com/lambda-once/once/local/dynamodblocal"
)

// In package dynamo_test, since dynamodblocal imports dynamo.
func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
