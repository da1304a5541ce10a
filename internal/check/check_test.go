package check_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
)

// recorder is a test that only notes its failures.
type recorder struct {
	testing.TB
	texts []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// Each check fails once for what does not hold, and not at all for what does.
func TestEachCheckNoticesItsFact(t *testing.T) {
	err := fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "p", Err: context.Canceled})
	now := time.Now()
	for name, run := range map[string]func(t testing.TB, holds bool){
		"Equal":  func(t testing.TB, holds bool) { check.Equal(t, 1, map[bool]int{true: 1, false: 2}[holds]) },
		"Differ": func(t testing.TB, holds bool) { check.Differ(t, 1, map[bool]int{true: 2, false: 1}[holds]) },
		"Slice":  func(t testing.TB, holds bool) { check.Slice(t, []bool{holds}, []bool{true}) },
		"Deep":   func(t testing.TB, holds bool) { check.Deep(t, []bool{holds}, []bool{true}) },
		"Time": func(t testing.TB, holds bool) {
			check.Time(t, now.UTC(), now.Add(map[bool]time.Duration{false: 1}[holds]))
		},
		"True":     func(t testing.TB, holds bool) { check.True(t, holds) },
		"False":    func(t testing.TB, holds bool) { check.False(t, !holds) },
		"Contains": func(t testing.TB, holds bool) { check.Contains(t, fmt.Sprint("is ", holds), "true") },
		"Lacks":    func(t testing.TB, holds bool) { check.Lacks(t, fmt.Sprint("is ", holds), "false") },
		"Says":     func(t testing.TB, holds bool) { check.Says(t, map[bool]error{true: err}[holds], "canceled") },
		"Nil":      func(t testing.TB, holds bool) { check.Nil(t, map[bool]error{false: err}[holds]) },
		"Must":     func(t testing.TB, holds bool) { check.Must(t, map[bool]error{false: err}[holds]) },
		"Failed":   func(t testing.TB, holds bool) { check.Failed(t, map[bool]error{true: err}[holds]) },
		"Is": func(t testing.TB, holds bool) {
			check.Is(t, map[bool]error{true: err, false: errors.New("")}[holds], context.Canceled)
		},
		"As": func(t testing.TB, holds bool) { check.As[*fs.PathError](t, map[bool]error{true: err}[holds]) },
	} {
		var good, bad recorder
		run(&good, true)
		run(&bad, false)
		check.Equal(t, len(good.texts), 0, name)
		check.Equal(t, len(bad.texts), 1, name)
	}
}
