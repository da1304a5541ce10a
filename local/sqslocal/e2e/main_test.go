package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/lambda-once/once/local/dynamodblocal"
)

// seed repeats the order of the messages and the choice of whom to kill; when
// a kill hits is up to the machine.
var seed = flag.Uint64("seed", 0, "of what is random; 0: a new one")

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
