// Package routers tests package httpapi behind the routers that are used most. This
// module requires them, so that they are in the module graph of no user.
package routers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/labstack/echo/v4"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/httpclient"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/memory"
	"github.com/lambda-once/once/internal/check"
)

// The code of docs/http.md.

func mount(c chi.Router, g gin.IRouter, e *echo.Echo, f fiber.Router, once func(http.Handler) http.Handler, pay http.Handler) {
	c.With(once).Method("POST", "/payments", pay)
	g.POST("/payments", gin.WrapH(once(pay)))
	e.POST("/payments", echo.WrapHandler(once(pay)))
	f.Post("/payments", adaptor.HTTPHandler(once(pay)))
}

// A server serves on a listener until the test ends.
type server interface{ Serve(net.Listener) error }

type fiberServer struct{ *fiber.App }

func (s fiberServer) Serve(l net.Listener) error { return s.Listener(l) }

func TestDuplicatesBehindEachRouterHaveOneResponse(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	for i, name := range []string{"chi", "gin", "echo", "fiber"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := idempotent.New("pay", memory.New(0), nil)
			check.Must(t, err)
			var charges atomic.Int64
			pay := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.URL.Query().Get("currency") != "EUR" {
					httpapi.Fail(w, r, errors.Join(err, errors.New("a part of the request is missing")))
					return
				}
				w.Header().Set("Location", "/payments/1")
				w.WriteHeader(http.StatusCreated)
				fmt.Fprintf(w, "charge %d of %s", charges.Add(1), body)
			})
			c, g, e, f := chi.NewRouter(), gin.New(), echo.New(), fiber.New(fiber.Config{DisableStartupMessage: true})
			mount(c, g, e, f, httpapi.Middleware(x, httpapi.NoIdentity(), nil), pay)
			s := []server{&http.Server{Handler: c}, &http.Server{Handler: g}, &http.Server{Handler: e}, fiberServer{f}}[i]
			l, err := net.Listen("tcp", "127.0.0.1:0")
			check.Must(t, err)
			t.Cleanup(func() { l.Close() })
			go s.Serve(l)

			client := &http.Client{Transport: httpclient.Transport(nil, &httpclient.Options{NewKey: func() string { return "cart-7" }})}
			send := func(body string) (status int, location, text string) {
				response, err := client.Post("http://"+l.Addr().String()+"/payments?currency=EUR", "text/plain", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(response.Body)
				check.Nil(t, errors.Join(err, response.Body.Close()))
				return response.StatusCode, response.Header.Get("Location"), string(got)
			}
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					status, location, text := send("ten")
					check.Equal(t, status, 201)
					check.Equal(t, location, "/payments/1")
					check.Equal(t, text, "charge 1 of ten")
				})
			}
			all.Wait()
			check.Equal(t, charges.Load(), 1)
			status, _, _ := send("eleven")
			check.Equal(t, status, 422)
		})
	}
}
