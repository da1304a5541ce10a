package main

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expression builds an expression with its placeholders. Names that are
// renamed, or reserved by DynamoDB, need them.
type expression struct {
	names  map[string]string
	values map[string]types.AttributeValue
}

func (x *expression) name(attribute string) string {
	for placeholder, name := range x.names {
		if name == attribute {
			return placeholder
		}
	}
	placeholder := fmt.Sprintf("#n%d", len(x.names))
	x.names[placeholder] = attribute
	return placeholder
}

func (x *expression) value(v types.AttributeValue) string {
	placeholder := fmt.Sprintf(":v%d", len(x.values))
	x.values[placeholder] = v
	return placeholder
}
