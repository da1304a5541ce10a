package crashmatrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/lambda-once/once/internal/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
	"github.com/lambda-once/once/local/postgreslocal"
	"github.com/lambda-once/once/proof/internal/tables"
)

const (
	// timeout is the timeout of an invocation. It bounds the lease of a crashed
	// one, for which its retry waits.
	timeout = 3 * time.Second
	// skew is the default clock skew of the library.
	skew = time.Second
	// atOnce bounds how many runs there are at once. Most wait for a lease most of the time.
	atOnce = 24
	// root is the folder of the repository.
	root = "../.."
)

// stage contains the servers and programs that all runs share.
type stage struct {
	*tables.Server
	postgres *postgreslocal.Server // nil if no mode uses it
	schema   string                // of examples/transfer in PostgreSQL
	binaries map[string]string     // by program
	slots    chan struct{}         // bounds how many run at once
}

// newStage starts DynamoDB Local, and PostgreSQL for a mode that uses it, and compiles the
// programs of the modes.
func newStage(ctx context.Context, modes []mode) (s *stage, err error) {
	s = &stage{binaries: map[string]string{}, slots: make(chan struct{}, atOnce)}
	if s.Server, err = tables.Start(ctx, nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, m := range modes {
		if m.database && s.postgres == nil {
			if s.postgres, err = postgreslocal.Start(ctx, nil); err != nil {
				return nil, err
			}
		}
		if s.binaries[m.program] == "" {
			s.binaries[m.program], err = lambdaruntime.Build(ctx, filepath.Join(root, m.program), ".")
			if err != nil {
				return nil, err
			}
		}
	}
	schema, err := os.ReadFile(filepath.Join(root, "examples", "transfer", "schema.sql"))
	s.schema = string(schema)
	return s, err
}

func (s *stage) close() error {
	errs := []error{s.Close()}
	for _, binary := range s.binaries {
		errs = append(errs, os.RemoveAll(filepath.Dir(binary)))
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Stop())
	}
	return errors.Join(errs...)
}

func (s *stage) dynamodb() kill.Server {
	return kill.Server{Name: "dynamodb", Variable: "AWS_ENDPOINT_URL_DYNAMODB", URL: s.Endpoint()}
}

// scene returns the scene of a mode.
func (s *stage) scene(m mode) *kill.Scene {
	same := samePayload
	if m.same != nil {
		same = m.same
	}
	return &kill.Scene{
		Function: lambdaruntime.Function{Name: path.Base(m.program), Binary: s.binaries[m.program], Env: s.Env(), Timeout: timeout},
		World:    func(ctx context.Context) (*kill.World, error) { return m.world(ctx, s) },
		Expected: refusedUntilTheLeaseLapses,
		Same:     same,
		First:    m.first,
		// The lease ends a skew after the invocation, and has lapsed a skew
		// after that.
		Lapse:    timeout + 2*skew + kill.Backoff,
		Depends:  m.depends,
		Slots:    s.slots,
		Patience: kill.Patience,
	}
}

func refusedUntilTheLeaseLapses(r lambdaruntime.Response) bool {
	return r.FunctionError != nil && r.FunctionError.Type == "InProgressError"
}

func samePayload(first, later lambdaruntime.Response) error {
	if bytes.Equal(first.Payload, later.Payload) {
		return nil
	}
	return fmt.Errorf("first answered %s, then %s", first.Payload, later.Payload)
}
