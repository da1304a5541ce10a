package crashmatrix

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lambda-once/once/local/dynamodblocal"
	"github.com/lambda-once/once/local/kill"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// stage contains what all runs share.
type stage struct {
	server   *dynamodblocal.Server
	client   *dynamodb.Client
	database *database         // nil if no mode uses it
	binaries map[string]string // by example
	slots    chan struct{}     // bounds how many run at once

	mu     sync.Mutex
	tables []string
}

// Most runs wait for a lease most of the time.
const atOnce = 24

// newStage starts DynamoDB Local, and PostgreSQL for a mode that uses it, and compiles what
// the modes need. root is the
// folder of the repository.
func newStage(ctx context.Context, root string, modes []mode) (s *stage, err error) {
	s = &stage{binaries: map[string]string{}, slots: make(chan struct{}, atOnce)}
	if s.server, err = dynamodblocal.Start(ctx, nil); err != nil {
		return nil, err
	}
	s.client = s.server.Client()
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
	// The server may have been found running, and continues.
	errs = append(errs, s.deleteTables())
	if s.database != nil && s.database.server != nil {
		errs = append(errs, s.database.server.Stop())
	}
	return errors.Join(append(errs, s.server.Stop())...)
}

func (s *stage) dynamodb() kill.Server {
	return kill.Server{Name: "dynamodb", Variable: "AWS_ENDPOINT_URL_DYNAMODB", URL: s.server.Endpoint()}
}
