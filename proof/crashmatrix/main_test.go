package crashmatrix

import (
	"os"
	"testing"

	"github.com/lambda-once/once/local/dynamodblocal"
)

func TestMain(m *testing.M) { os.Exit(dynamodblocal.Main(m)) }
