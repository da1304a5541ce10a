package postgres

import (
	"os"
	"testing"

	"github.com/lambda-once/once/local/postgreslocal"
)

func TestMain(m *testing.M) { os.Exit(postgreslocal.Main(m)) }
