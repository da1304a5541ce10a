package docs_test

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/errors.md.

func statusOf(err error) (int, error) {
	var running *idempotent.InProgressError
	switch {
	case errors.As(err, &running):
		return 409, nil // and Retry-After; running.Until is the end of the lease
	case errors.Is(err, idempotent.ErrLeaseLost):
		return 409, nil
	case errors.Is(err, idempotent.ErrKeyReused):
		return 422, nil
	case errors.Is(err, idempotent.ErrMissingKey), errors.Is(err, idempotent.ErrInvalidKey):
		return 400, nil
	}
	return 201, err
}

func TestErrorsOfACallBecomeStatuses(t *testing.T) {
	x := executor(t, "create-payment", nil)
	for _, c := range []struct {
		id     string
		amount int
		want   int
	}{{"p-1", 1, 201}, {"p-1", 1, 201}, {"p-1", 2, 422}, {"", 1, 400}, {"control\x00", 1, 400}} {
		_, err := idempotent.Do(t.Context(), x, idempotent.Key{ID: c.id, Payload: c.amount}, func(context.Context) (string, error) {
			return "paid", nil
		})
		if status, err := statusOf(err); status != c.want || err != nil {
			t.Errorf("%+v: %d, %v", c, status, err)
		}
	}
}

var errorType = regexp.MustCompile(`(?m)^type ([A-Z]\w*Error) struct`)

func TestPageNamesEveryErrorType(t *testing.T) {
	page := read(t, "docs/errors.md")
	n := 0
	folders := regexp.MustCompile(`^(idempotent|dynamo|handlers|infra)(/|$)`)
	for _, p := range packages(t) {
		if dir := filepath.ToSlash(p.Dir); !folders.MatchString(dir) || strings.Contains(dir+"/", "/internal/") {
			continue
		}
		for _, name := range p.GoFiles {
			for _, m := range errorType.FindAllStringSubmatch(read(t, filepath.Join(p.Dir, name)), -1) {
				n++
				pattern := regexp.MustCompile(`\*(\w+\.)?` + m[1] + "`")
				check.True(t, pattern.MatchString(page), "docs/errors.md has", m[1], "of", name)
			}
		}
	}
	check.True(t, n >= 30, n, "types of errors")
}
