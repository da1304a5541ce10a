package dynamo

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// The parts of an item that a tool needs in order to read or write it by
// itself, as the operator's command does.

// Attributes are the names of the attributes, without any empty ones but
// SortKey.
func (s *Store) Attributes() Attributes { return s.layout.attr }

// Key is the primary key of a record's item in the store's table.
func (s *Store) Key(id string) (map[string]types.AttributeValue, error) {
	if err := s.layout.checkID(id); err != nil {
		return nil, err
	}
	return s.layout.key(id), nil
}

// Value is the attribute value in which a record keeps an encoded result or
// error. It does not know the limit of an item.
func (s *Store) Value(data []byte) types.AttributeValue { return s.codec.encode(data) }
