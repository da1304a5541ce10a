package meter

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// item is an item in DynamoDB's JSON.
type item map[string]map[string]any

// answer is the part of all answers that tells their cost.
type answer struct {
	Type             string `json:"__type"`
	ConsumedCapacity capacities
	Item             item
}

// batch is the part of the answer to a batch of statements.
type batch struct {
	Responses []struct{ Error *struct{ Item item } }
}

// price returns what an operation cost, by its answer.
func price(operation string, said []byte) (Usage, error) {
	if operation == "DescribeTable" {
		return Usage{}, nil // opens the connections of the bench; no call sends it
	}
	u := Usage{Requests: 1}
	var a answer
	if err := json.Unmarshal(said, &a); err != nil {
		return u, fmt.Errorf("%s: %w", operation, err)
	}
	if strings.HasSuffix(a.Type, "ConditionalCheckFailedException") {
		u.refuse(a.Item)
		return u, nil
	}
	units := 0.0
	for _, c := range a.ConsumedCapacity {
		units += c.CapacityUnits
	}
	switch operation {
	case "GetItem", "BatchGetItem":
		u.Read = units
	case "BatchExecuteStatement":
		u.Write = units
		var b batch
		if err := json.Unmarshal(said, &b); err != nil {
			return u, fmt.Errorf("%s: %w", operation, err)
		}
		for _, s := range b.Responses {
			if s.Error != nil {
				u.refuse(s.Error.Item)
			}
		}
	default:
		u.Write = units
	}
	return u, nil
}

// capacities are those of one table, or of several.
type capacities []struct{ CapacityUnits float64 }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *capacities) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("[")) {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	type list capacities // without this method
	return json.Unmarshal(text, (*list)(c))
}

// refuse adds a failed condition that met i.
func (u *Usage) refuse(i item) {
	if len(i) == 0 {
		u.Unpriced++
		return
	}
	u.Refused += math.Ceil(float64(i.size()) / 1024)
}

// size is the size of the item as DynamoDB bills it.
func (i item) size() (size int) {
	for name, value := range i {
		size += len(name) + valueSize(value)
	}
	return size
}

func valueSize(value map[string]any) (size int) {
	const container = 3 // and 1 for each element
	for kind, v := range value {
		switch v := v.(type) {
		case string:
			switch kind {
			case "N":
				return len(v)/2 + 1
			case "B":
				return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(v, "=")))
			}
			return len(v)
		case map[string]any:
			size = container + len(v)
			for name, member := range v {
				size += len(name) + valueSize(member.(map[string]any))
			}
		case []any:
			size = container + len(v)
			for _, element := range v {
				size += valueSize(element.(map[string]any))
			}
		default: // BOOL or NULL
			return 1
		}
	}
	return size
}
