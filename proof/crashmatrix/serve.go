package crashmatrix

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// serve starts a local server, and returns its URL and a function that stops it.
func serve(h http.Handler) (url string, end func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() error {
		err := s.Shutdown(context.Background())
		if served := <-served; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}
