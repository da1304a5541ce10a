package lambdaruntime

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// api is the Lambda Runtime API of one process. Each process has an API on its own
// port, so that requests of a killed process never reach its successor.
type api struct {
	arn  string
	work chan *invocation
	// gone is closed when the process has exited, to release waiting requests.
	gone <-chan struct{}

	mu      sync.Mutex
	waiting int           // requests for work that wait
	idle    chan struct{} // closed while at least one waits
	current *invocation
	initErr *FunctionError
}

func newAPI(arn string, gone <-chan struct{}) *api {
	return &api{arn: arn, gone: gone, work: make(chan *invocation), idle: make(chan struct{})}
}

func (a *api) handler() http.Handler {
	const root = "/2018-06-01/runtime"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"/invocation/next", a.next)
	mux.HandleFunc("POST "+root+"/invocation/{id}/response", a.response)
	mux.HandleFunc("POST "+root+"/invocation/{id}/error", a.error)
	mux.HandleFunc("POST "+root+"/init/error", a.initError)
	return mux
}

// ready is closed when the function waits for work.
func (a *api) ready() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle
}

func (a *api) next(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	if a.waiting++; a.waiting == 1 {
		close(a.idle)
	}
	a.mu.Unlock()
	var inv *invocation
	select {
	case inv = <-a.work:
	case <-r.Context().Done():
	case <-a.gone:
	}
	a.mu.Lock()
	if a.waiting--; a.waiting == 0 {
		a.idle = make(chan struct{})
	}
	a.mu.Unlock()
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
	if _, err := w.Write(inv.payload); err != nil {
		panic(http.ErrAbortHandler) // the process died, which the sandbox notices
	}
}

// hand sends an invocation to a request that waits.
func (a *api) hand(inv *invocation) bool {
	a.mu.Lock()
	a.current = inv
	a.mu.Unlock()
	select {
	case a.work <- inv:
		return true
	case <-a.gone:
		return false
	}
}

func (a *api) response(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxResponse+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidResponse", err.Error())
		return
	}
	if len(body) > maxResponse {
		message := fmt.Sprintf("Response payload size exceeded maximum allowed payload size (%d bytes).", maxResponse)
		if a.fail(w, r, &FunctionError{Type: "Function.ResponseSizeTooLarge", Message: message}, nil) {
			refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", message)
		}
		return
	}
	// A function that fails while it sends its response reports that in a trailer.
	if r.Trailer.Get("Lambda-Runtime-Function-Error-Type") != "" {
		document, err := base64.StdEncoding.DecodeString(r.Trailer.Get("Lambda-Runtime-Function-Error-Body"))
		if err != nil {
			refuse(w, http.StatusBadRequest, "InvalidTrailer", err.Error())
			return
		}
		a.failWith(w, r, document)
		return
	}
	if a.answer(w, r, Response{Payload: body, ContentType: r.Header.Get("Content-Type")}) {
		accept(w)
	}
}

func (a *api) error(w http.ResponseWriter, r *http.Request) {
	document, err := io.ReadAll(io.LimitReader(r.Body, maxResponse))
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
		return
	}
	a.failWith(w, r, document)
}

func (a *api) failWith(w http.ResponseWriter, r *http.Request, document []byte) {
	var failure FunctionError
	if err := json.Unmarshal(document, &failure); err != nil {
		refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
		return
	}
	if a.fail(w, r, &failure, document) {
		accept(w)
	}
}

func (a *api) fail(w http.ResponseWriter, r *http.Request, failure *FunctionError, document []byte) bool {
	if document == nil {
		var err error
		if document, err = json.Marshal(failure); err != nil {
			refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
			return false
		}
	}
	return a.answer(w, r, Response{Payload: document, ContentType: "application/json", FunctionError: failure})
}

// answer accepts the first response to the invocation in progress. If it reports
// false, it has written the refusal.
func (a *api) answer(w http.ResponseWriter, r *http.Request, res Response) bool {
	a.mu.Lock()
	inv := a.current
	if inv != nil && inv.id == r.PathValue("id") {
		a.current = nil
	} else {
		inv = nil
	}
	a.mu.Unlock()
	if inv == nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
		return false
	}
	inv.answered <- res
	return true
}

func (a *api) initError(w http.ResponseWriter, r *http.Request) {
	var failure FunctionError
	err := json.NewDecoder(io.LimitReader(r.Body, maxResponse)).Decode(&failure)
	if err != nil && !errors.Is(err, io.EOF) {
		refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
		return
	}
	a.mu.Lock()
	a.initErr = &failure
	a.mu.Unlock()
	accept(w)
}

func (a *api) initFailure() *FunctionError {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.initErr
}

func accept(w http.ResponseWriter) {
	reply(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	reply(w, status, map[string]string{"errorType": kind, "errorMessage": message})
}

func reply(w http.ResponseWriter, status int, body map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(http.ErrAbortHandler) // as above
	}
}
