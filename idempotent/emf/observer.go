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

// Options are those of [New]. The zero value of each field is its default.
type Options struct {
	// Namespace is the namespace of the metrics. Default "Once". At most 255 of
	// the letters, digits, spaces and .-_/#: that CloudWatch takes; it keeps
	// names that begin with "AWS/" for itself.
	Namespace string

	// OnError is called for every line that could not be written: a call cannot
	// fail for it. It is called by many calls at once. Default: [slog.Default]
	// logs it as an error.
	OnError func(error)

	// Writer receives each line, with its end, in one call of Write, and never
	// two at once from one Observer. What else writes to it must write whole
	// lines too. Default [os.Stdout], which several Observers may share.
	Writer io.Writer
}

// Observer is an [idempotent.Observer] that writes a line of Embedded Metric
// Format for every call. It is safe for concurrent use.
type Observer struct {
	directives []directive
	onError    func(error)
	writer     io.Writer

	mu   sync.Mutex // one line at a time
	line bytes.Buffer
}

// New makes an Observer. A nil options stands for all defaults.
func New(options *Options) (*Observer, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Namespace == "" {
		o.Namespace = Namespace
	}
	if !namespaces.MatchString(o.Namespace) || strings.HasPrefix(o.Namespace, "AWS/") {
		return nil, fmt.Errorf("emf: Options.Namespace is %q, which CloudWatch does not take", o.Namespace)
	}
	if o.OnError == nil {
		o.OnError = func(err error) { slog.Default().Error("metrics are lost", "error", err) }
	}
	if o.Writer == nil {
		o.Writer = os.Stdout
	}
	return &Observer{directives: directives(o.Namespace), onError: o.OnError, writer: o.Writer}, nil
}

var namespaces = regexp.MustCompile(`^[0-9A-Za-z.\-_/#: ]{1,255}$`)

// Observe writes one line.
func (o *Observer) Observe(_ context.Context, e idempotent.Event) {
	if err := o.write(newLine(time.Now(), o.directives, e)); err != nil {
		o.onError(fmt.Errorf("emf: the metrics of a call of %q were not written: %w", e.Operation, err))
	}
}

func (o *Observer) write(l line) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line.Reset()
	// Not to the writer itself: an Encoder that failed once fails for ever.
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
