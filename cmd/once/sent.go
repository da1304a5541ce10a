package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// sent looks at each time that the SDK sends a write: the last answer says
// nothing of one before it that was not heard.
type sent struct{ unheard bool }

func (s *sent) options(o *dynamodb.Options) {
	look := middleware.DeserializeMiddlewareFunc("Sent", func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, m, err := next.HandleDeserialize(ctx, in)
		if err != nil && !refused(err) {
			s.unheard = true
		}
		return out, m, err
	})
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(look, middleware.Before)
	})
}

// refused says that DynamoDB has answered, and not written. After an answer of
// 500 and more it may have.
func refused(err error) bool {
	var r *smithyhttp.ResponseError
	if !errors.As(err, &r) {
		return false
	}
	code := r.HTTPStatusCode()
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}
