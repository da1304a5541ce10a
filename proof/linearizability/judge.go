package linearizability

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience bounds the check of one history, which usually takes milliseconds.
const patience = 5 * time.Minute

// verdict is the result of checking one history.
type verdict struct {
	porcupine.CheckResult
	what       string // of what it is a history
	model      porcupine.Model
	operations []porcupine.Operation
	unknown    int // operations without an answer
	took       time.Duration
}

func judgeHistory(what string, model porcupine.Model, operations []porcupine.Operation, patience time.Duration) verdict {
	v := verdict{what: what, model: model, operations: operations}
	for _, o := range operations {
		if o.Return == never {
			v.unknown++
		}
	}
	began := time.Now()
	v.CheckResult = porcupine.CheckOperationsTimeout(model, operations, patience)
	v.took = time.Since(began)
	return v
}

// legal reports whether the history is linearizable. One that is not decided in
// time is not legal either.
func (v *verdict) legal() bool { return v.CheckResult == porcupine.Ok }

func (v *verdict) String() string {
	problem := "is not linearizable"
	if v.CheckResult == porcupine.Unknown {
		problem = fmt.Sprintf("is not decided after %v", v.took.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s %s: %d operations, %d of them without an answer", v.what, problem, len(v.operations), v.unknown)
}

// draw writes the visualization of a history, into a file that outlives the
// test, and returns its path.
func (v *verdict) draw() (path string, err error) {
	dir, err := os.MkdirTemp("", "linearizability-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "history.html")
	_, info := porcupine.CheckOperationsVerbose(v.model, v.operations, patience)
	return path, porcupine.VisualizePath(v.model, info, path)
}
