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

// Locked calls work, for at most Timeout, while no other process does in the cache.
func Locked(ctx context.Context, cacheDir string, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	unlock, err := Lock(ctx, filepath.Join(cacheDir, "fetch.lock"))
	if err != nil {
		return err
	}
	// Remove the leftovers of a killed process. This process has the lock, so none
	// is writing there.
	left, err := filepath.Glob(filepath.Join(cacheDir, ".fetch-*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err == nil {
		err = work(ctx)
	}
	return errors.Join(err, unlock())
}

// Fill creates dir, which is always complete: fill writes into a temporary directory, and
// returns the one within it that is renamed to dir.
func Fill(dir string, fill func(tmp string) (string, error)) (err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	filled, err := fill(tmp)
	if err != nil {
		return err
	}
	return os.Rename(filled, dir)
}
