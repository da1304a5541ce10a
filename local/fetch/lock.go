package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Lock acquires a lock between processes. The system releases it when its process dies,
// so that no stale lock remains.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	for {
		locked, err := tryLock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("fetch: lock %s: %w", path, err), f.Close())
		}
		if locked {
			return f.Close, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("fetch: lock %s: %w", path, ctx.Err()), f.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
