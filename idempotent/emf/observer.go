package emf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lambda-once/once/idempotent"
)

// Options are the options of [New]. A field with its zero value has its default.
type Options struct {
	// Namespace is the namespace of the metrics. It has at most 255 letters,
	// digits, spaces and characters of .-_/#: and does not begin with "AWS/".
	// Default "Once".
	Namespace string

	// OnError is called if a line cannot be written, which does not fail the
	// call. It must be safe for concurrent use. Default: [slog.Default] logs
	// the error.
	OnError func(error)

	// Writer receives each line in one call of Write. An Observer makes one call
	// at a time. Other users of the writer must also write whole lines. Default
	// [os.Stdout], which several Observers may share.
	Writer io.Writer
}

// An Observer is an [idempotent.Observer] that writes a line of Embedded Metric
// Format for every call, and for every round of handlers.Resume. It is safe for
// concurrent use.
type Observer struct {
	directives []directive // of a call
	abandoned  []directive // of a round
	onError    func(error)
	writer     io.Writer

	mu   sync.Mutex // one line at a time
	line bytes.Buffer
}

// New returns an Observer. If options is nil, all defaults apply.
func New(options *Options) (*Observer, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Namespace == "" {
		o.Namespace = Namespace
	}
	if !namespaces.MatchString(o.Namespace) || strings.HasPrefix(o.Namespace, "AWS/") {
		return nil, fmt.Errorf("emf: Options.Namespace: CloudWatch does not accept %q", o.Namespace)
	}
	if o.OnError == nil {
		o.OnError = func(err error) { slog.Default().Error("metrics lost", "error", err) }
	}
	if o.Writer == nil {
		o.Writer = os.Stdout
	}
	return &Observer{directives: directives(o.Namespace), abandoned: abandoned(o.Namespace), onError: o.OnError, writer: o.Writer}, nil
}

var namespaces = regexp.MustCompile(`^[0-9A-Za-z.\-_/#: ]{1,255}$`)

// Observe writes one line.
func (o *Observer) Observe(_ context.Context, e idempotent.Event) {
	o.put(e.Operation, newLine(time.Now(), o.directives, e))
}

// ObserveAbandoned writes one line, also if oldest is 0. It implements the
// handlers.ResumeObserver, for a function of handlers.Resume.
func (o *Observer) ObserveAbandoned(_ context.Context, operation string, oldest time.Duration) {
	o.put(operation, abandonedLine{metadata{time.Now().UnixMilli(), o.abandoned}, operation, oldest.Seconds()})
}

func (o *Observer) put(operation string, line any) {
	if err := o.write(line); err != nil {
		o.onError(fmt.Errorf("emf: write the metrics of operation %q: %w", operation, err))
	}
}

func (o *Observer) write(l any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line.Reset()
	// An Encoder on the writer itself would fail forever after one error.
	encoder := json.NewEncoder(&o.line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l); err != nil {
		return err
	}
	n, err := o.writer.Write(o.line.Bytes())
	if err == nil && n < o.line.Len() {
		err = io.ErrShortWrite
	}
	return err
}
