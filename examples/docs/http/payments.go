package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"strings"

	"github.com/lambda-once/once/handlers/httpapi"
	"github.com/lambda-once/once/idempotent"
)

type payment struct {
	Card  string `json:"card"`
	Cents int64  `json:"cents"`
}

type receipt struct {
	Charge string `json:"charge"`
}

type userKey struct{} // of the user's name in a context

// authenticate stands around the middleware, and does not read the body.
func authenticate(users map[string]string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		user, known := users[hex.EncodeToString(digest[:])]
		if !known {
			httpapi.Fail(w, r, &httpapi.StatusError{Status: http.StatusUnauthorized, Detail: "The token is unknown."})
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
	})
}

// userOf returns the owner of a key. A request without one is refused with 403.
func userOf(r *http.Request) (string, error) {
	user, _ := r.Context().Value(userKey{}).(string) // "" without authenticate
	return user, nil
}

func createPayment(w http.ResponseWriter, r *http.Request) {
	var p payment
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Cents <= 0 {
		httpapi.Fail(w, r, &httpapi.StatusError{Status: http.StatusBadRequest, Detail: "Send card and cents.", Err: err})
		return
	}
	id, err := charge(r.Context(), idempotent.DownstreamKey(r.Context(), "charge"), p)
	if errors.Is(err, errDeclined) { // for good: repetitions get the same 402
		err = &httpapi.StatusError{Status: http.StatusPaymentRequired, Detail: "The card was declined.", Err: err}
	}
	if err != nil {
		httpapi.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	if err := json.NewEncoder(w).Encode(receipt{Charge: id}); err != nil {
		log.Print(err)
	}
}

var errDeclined = errors.New("the card was declined")

// charge stands for a payment provider. The key is the same in every attempt.
func charge(ctx context.Context, key string, p payment) (id string, err error) {
	if p.Card == "empty" {
		return "", errDeclined
	}
	return rand.Text(), nil
}
