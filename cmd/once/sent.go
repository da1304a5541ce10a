package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// sent records whether a try of the SDK to send a write was unacknowledged: the
// last response says nothing about the tries before it.
type sent struct{ unacknowledged bool }

func (s *sent) options(o *dynamodb.Options) {
	look := middleware.DeserializeMiddlewareFunc("Sent", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, m, err := next.HandleDeserialize(ctx, in)
		if err != nil && !refused(err) {
			s.unacknowledged = true
		}
		return out, m, err
	})
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(look, middleware.Before)
	})
}

// refused reports whether DynamoDB has responded that it did not write. With a
// status of 500 and more it may have written.
func refused(err error) bool {
	var r *smithyhttp.ResponseError
	if !errors.As(err, &r) {
		return false
	}
	code := r.HTTPStatusCode()
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}
