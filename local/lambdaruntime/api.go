package lambdaruntime

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
)

// api is the Lambda Runtime API of one process. Each process has an API on its own
// port, so that requests of a killed process never reach its successor.
type api struct {
	arn string
	// ready receives when the function requests work, which is then sent to work.
	ready chan struct{}
	work  chan *invocation
	// gone is closed when the process has exited, to release waiting requests.
	gone <-chan struct{}

	current atomic.Pointer[invocation]
	initErr atomic.Pointer[FunctionError]
}

func (a *api) handler() http.Handler {
	const root = "/2018-06-01/runtime"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"/invocation/next", a.next)
	mux.HandleFunc("POST "+root+"/invocation/{id}/response", accepting(a.response))
	mux.HandleFunc("POST "+root+"/invocation/{id}/error", accepting(a.error))
	mux.HandleFunc("POST "+root+"/init/error", accepting(a.initError))
	return mux
}

func (a *api) next(w http.ResponseWriter, r *http.Request) {
	inv := a.wait(r.Context().Done())
	if inv == nil {
		// The process has exited and cannot read the response.
		http.Error(w, "gone", http.StatusServiceUnavailable)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", a.arn)
	h.Set("Lambda-Runtime-Trace-Id", inv.trace)
	if inv.client != "" {
		h.Set("Lambda-Runtime-Client-Context", inv.client)
	}
	if _, err := w.Write(inv.payload); err != nil {
		panic(http.ErrAbortHandler) // the process died, which the sandbox notices
	}
}

// wait returns the next invocation, or nil if the process exits.
func (a *api) wait(left <-chan struct{}) *invocation {
	ready, work := a.ready, (chan *invocation)(nil)
	for {
		select {
		case ready <- struct{}{}:
			ready, work = nil, a.work
		case inv := <-work:
			return inv
		case <-left:
			return nil
		case <-a.gone:
			return nil
		}
	}
}

// hand sends an invocation to the request that waits.
func (a *api) hand(inv *invocation) {
	a.current.Store(inv)
	for {
		select {
		case a.work <- inv:
			return
		case <-a.ready: // of a request that replaces a cut one
		case <-a.gone:
			return
		}
	}
}

// A refusal is the response to a request that the API does not accept.
type refusal struct {
	status        int
	kind, message string
}

// accepting responds that handle accepted a request, or with its refusal.
func accepting(handle func(*http.Request) *refusal) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, body := http.StatusAccepted, map[string]string{"status": "OK"}
		if no := handle(r); no != nil {
			status, body = no.status, map[string]string{"errorType": no.kind, "errorMessage": no.message}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			panic(http.ErrAbortHandler) // as above
		}
	}
}

func (a *api) response(r *http.Request) *refusal {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxResponse+1))
	if err != nil {
		return &refusal{http.StatusBadRequest, "InvalidResponse", err.Error()}
	}
	if len(body) > maxResponse {
		message := fmt.Sprintf("Response payload size exceeded maximum allowed payload size (%d bytes).", maxResponse)
		document := fmt.Appendf(nil, `{"errorType":"Function.ResponseSizeTooLarge","errorMessage":%q}`, message)
		return cmp.Or(a.fail(r, document), &refusal{http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", message})
	}
	// A function that fails while it sends its response reports that in a trailer.
	if r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "" {
		document, err := base64.StdEncoding.DecodeString(r.Trailer.Get("Lambda-Runtime-Function-Error-Body"))
		if err != nil {
			return &refusal{http.StatusBadRequest, "InvalidTrailer", err.Error()}
		}
		return a.fail(r, document)
	}
	return a.answer(r, Response{Payload: body})
}

func (a *api) error(r *http.Request) *refusal {
	document, err := io.ReadAll(io.LimitReader(r.Body, maxResponse))
	if err != nil {
		return invalidShape(err)
	}
	return a.fail(r, document)
}

func (a *api) fail(r *http.Request, document []byte) *refusal {
	failure := new(FunctionError)
	if err := json.Unmarshal(document, failure); err != nil {
		return invalidShape(err)
	}
	return a.answer(r, Response{Payload: document, FunctionError: failure})
}

// answer accepts the first response to the invocation in progress.
func (a *api) answer(r *http.Request, res Response) *refusal {
	inv := a.current.Load()
	if inv == nil || inv.id != r.PathValue("id") || !a.current.CompareAndSwap(inv, nil) {
		return &refusal{http.StatusBadRequest, "InvalidRequestID", "Invalid request ID"}
	}
	inv.answered <- res
	return nil
}

func (a *api) initError(r *http.Request) *refusal {
	failure := new(FunctionError)
	err := json.NewDecoder(io.LimitReader(r.Body, maxResponse)).Decode(failure)
	if err != nil && !errors.Is(err, io.EOF) {
		return invalidShape(err)
	}
	a.initErr.Store(failure)
	return nil
}

func invalidShape(err error) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidErrorShape", err.Error()}
}
