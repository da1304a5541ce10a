package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/lambda-once/once/local/dynamodblocal"
)

// seed determines the order of the messages and the environments to kill, but not the
// moments of the kills.
var seed = flag.Uint64("seed", 0, "of what is random; 0: a new one")

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
