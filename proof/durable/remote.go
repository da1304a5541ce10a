package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Remote is the Client of a compiled function: the service is a server.
type Remote struct{ URL string }

type checkpoint struct {
	ARN, Token string
	Operation  *operation
}

// Checkpoint sends the operation to the service.
func (r Remote) Checkpoint(ctx context.Context, arn, token string, o *Operation) (next string, err error) {
	body, err := json.Marshal(checkpoint{arn, token, o})
	if err != nil {
		return "", err
	}
	return r.Post(ctx, "/checkpoint", body)
}

// Post returns the answer to a request to the server.
func (r Remote) Post(ctx context.Context, path string, body []byte) (text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	read, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, read)
	}
	return string(read), err
}

// ServeHTTP stores the checkpoints of a Remote.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c checkpoint
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	next, err := s.Checkpoint(r.Context(), c.ARN, c.Token, c.Operation)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	_, _ = io.WriteString(w, next) // the function repeats what it does not hear of
}
