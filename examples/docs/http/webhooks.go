package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/lambda-once/once/dynamo"
	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
)

// An event also has the number of its delivery, which is left out here.
type event struct {
	ID      string `json:"id" dynamodbav:"event"`
	Invoice string `json:"invoice" dynamodbav:"id"`
	Cents   int64  `json:"cents" dynamodbav:"cents"`
}

// eventKey checks the signature of each delivery, so also of a repetition.
func eventKey(secret []byte) func(httpapi.Request) (idempotent.Key, error) {
	return func(r httpapi.Request) (idempotent.Key, error) {
		if !signed(secret, r.Headers, r.Body, time.Now()) {
			return idempotent.Key{}, &httpapi.StatusError{Status: http.StatusUnauthorized, Detail: "The signature is wrong, or too old."}
		}
		var e event
		if err := json.Unmarshal(r.Body, &e); err != nil || e.Invoice == "" {
			return idempotent.Key{}, &httpapi.StatusError{Status: http.StatusBadRequest, Detail: "The event has no invoice.", Err: err}
		}
		return idempotent.Key{ID: e.ID, Payload: e}, nil // compares events, and not whole bodies
	}
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
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			httpapi.Fail(w, r, err)
			return
		}
		dynamo.Collect(r.Context()).Put(invoices, e)
		w.WriteHeader(http.StatusNoContent)
	})
}
