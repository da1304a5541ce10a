package crashmatrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lambda-once/once/local/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
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
)

// stage contains what all runs share.
type stage struct {
	*tables.Server
	database *database         // nil if no mode uses it
	binaries map[string]string // by example
	slots    chan struct{}     // bounds how many run at once
}

// newStage starts DynamoDB Local, and PostgreSQL for a mode that uses it, and compiles the
// examples of the modes. root is the folder of the repository.
func newStage(ctx context.Context, root string, modes []mode) (s *stage, err error) {
	s = &stage{binaries: map[string]string{}, slots: make(chan struct{}, atOnce)}
	if s.Server, err = tables.Start(ctx, nil); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(modes, func(m mode) bool { return m.database }) {
		if s.database, err = startDatabase(ctx, root); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	for _, m := range modes {
		if s.binaries[m.example] != "" {
			continue
		}
		binary, err := lambdaruntime.Build(ctx, filepath.Join(root, "examples"), "./"+m.example)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.binaries[m.example] = binary
	}
	return s, nil
}

func (s *stage) close() error {
	var errs []error
	for _, binary := range s.binaries {
		errs = append(errs, os.RemoveAll(filepath.Dir(binary)))
	}
	if s.database != nil && s.database.server != nil {
		errs = append(errs, s.database.server.Stop())
	}
	return errors.Join(append(errs, s.Close())...)
}

func (s *stage) dynamodb() kill.Server {
	return kill.Server{Name: "dynamodb", Variable: "AWS_ENDPOINT_URL_DYNAMODB", URL: s.Endpoint()}
}

// result is the result of one run, which was killed at the Point.
type result struct {
	kill.Point
	kill.Run
	seen string // the effects
}

// play runs a mode that is killed at p, or undisturbed if p is the zero value.
func (s *stage) play(ctx context.Context, m mode, p kill.Point) (result, error) {
	r := result{Point: p}
	scene := &kill.Scene{
		Function: lambdaruntime.Function{Name: m.example, Binary: s.binaries[m.example], Env: s.Env(), Timeout: timeout},
		World: func(ctx context.Context) (*kill.World, error) {
			w, err := m.world(ctx, s)
			if err != nil {
				return nil, err
			}
			w.Expected = refusedUntilTheLeaseLapses
			w.Same = samePayload
			w.Check = func(ctx context.Context) (broken, err error) {
				e, err := w.count(ctx, p)
				r.seen = e.seen
				return e.wrong, err
			}
			return &w.World, nil
		},
		First: m.first,
		// The lease ends a skew after the invocation, and has lapsed a skew
		// after that.
		Lapse:    timeout + 2*skew + kill.Backoff,
		Depends:  m.depends,
		Slots:    s.slots,
		Patience: kill.Patience,
	}
	run := scene.Learn
	if p.At != 0 {
		run = func(ctx context.Context) (kill.Run, error) { return scene.Play(ctx, p) }
	}
	var err error
	r.Run, err = run(ctx)
	return r, err
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
