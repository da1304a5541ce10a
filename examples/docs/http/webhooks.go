package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
	"github.com/lambda-once/once/idempotent/keypath"
)

// An event also has the number of its delivery, which is left out here.
type event struct {
	ID      string `json:"id" dynamodbav:"event"`
	Invoice string `json:"invoice" dynamodbav:"id"`
	Cents   int64  `json:"cents" dynamodbav:"cents"`
}

// eventKey compares deliveries by their events, and not by their bodies.
var eventKey = idempotent.WithPayload(keypath.Path[httpapi.Request]("body.id"), func(r httpapi.Request) any {
	var e event
	if err := json.Unmarshal(r.Body, &e); err != nil {
		return r.Body // settle refuses it
	}
	return e
})

// verify checks the signature of each delivery, so also of a repetition. It stands around
// the middleware, and leaves the body as it was.
func verify(secret []byte, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			httpapi.Fail(w, r, &httpapi.StatusError{Status: http.StatusBadRequest, Detail: "The body is too long, or incomplete.", Err: err})
			return
		}
		if !signed(secret, r.Header, body, time.Now()) {
			httpapi.Fail(w, r, &httpapi.StatusError{Status: http.StatusUnauthorized, Detail: "The signature is wrong, or too old."})
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// signed reports whether X-Signature is the HMAC of the time, a dot and the body. The time
// is signed as well, so that a recorded delivery is worthless after five minutes.
func signed(secret []byte, h http.Header, body []byte, now time.Time) bool {
	seconds, err := strconv.ParseInt(h.Get("X-Timestamp"), 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	signature, err := hex.DecodeString(h.Get("X-Signature"))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(h.Get("X-Timestamp") + "."))
	mac.Write(body)
	return err == nil && hmac.Equal(signature, mac.Sum(nil))
}

// settle stores the invoice in the transaction that stores the response.
func settle(invoices string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || e.Invoice == "" {
			httpapi.Fail(w, r, &httpapi.StatusError{Status: http.StatusBadRequest, Detail: "The event has no invoice.", Err: err})
			return
		}
		dynamo.Collect(r.Context()).Put(invoices, e)
		w.WriteHeader(http.StatusNoContent)
	})
}
