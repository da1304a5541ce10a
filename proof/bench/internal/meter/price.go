package meter

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// item is an item in DynamoDB's JSON.
type item map[string]map[string]json.RawMessage

// answer has what the answers of all operations say of their cost.
type answer struct {
	Type             string `json:"__type"`
	ConsumedCapacity json.RawMessage
	Item             item
	Responses        json.RawMessage
}

type consumed struct{ CapacityUnits float64 }

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
		return u, u.refuse(a.Item)
	}
	units, err := total(a.ConsumedCapacity)
	if err != nil {
		return u, fmt.Errorf("%s: %w", operation, err)
	}
	switch operation {
	case "GetItem", "BatchGetItem":
		u.Read = units
	case "BatchExecuteStatement":
		u.Write = units
		var statements []struct {
			Error *struct {
				Code string
				Item item
			}
		}
		if err := json.Unmarshal(a.Responses, &statements); err != nil {
			return u, fmt.Errorf("%s: %w", operation, err)
		}
		for _, s := range statements {
			if s.Error == nil {
				continue
			}
			if err := u.refuse(s.Error.Item); err != nil {
				return u, err
			}
		}
	default:
		u.Write = units
	}
	return u, nil
}

// total adds the units of one table, or of several.
func total(capacity json.RawMessage) (units float64, err error) {
	if len(capacity) == 0 {
		return 0, nil
	}
	tables := []consumed{{}}
	if bytes.HasPrefix(capacity, []byte("[")) {
		err = json.Unmarshal(capacity, &tables)
	} else {
		err = json.Unmarshal(capacity, &tables[0])
	}
	for _, t := range tables {
		units += t.CapacityUnits
	}
	return units, err
}

// refuse adds a failed condition that met i.
func (u *Usage) refuse(i item) error {
	if len(i) == 0 {
		u.Unpriced++
		return nil
	}
	size, err := i.size()
	u.Refused += math.Ceil(float64(size) / 1024)
	return err
}

// size is the size of the item as DynamoDB bills it.
func (i item) size() (size int, err error) {
	for name, value := range i {
		n, err := valueSize(value)
		if err != nil {
			return 0, fmt.Errorf("attribute %s: %w", name, err)
		}
		size += len(name) + n
	}
	return size, nil
}

func valueSize(value map[string]json.RawMessage) (int, error) {
	const container = 3 // and 1 for each element
	for kind, raw := range value {
		switch kind {
		case "S", "N", "B":
			var text string
			err := json.Unmarshal(raw, &text)
			switch kind {
			case "N":
				return len(text)/2 + 1, err
			case "B":
				return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "="))), err
			}
			return len(text), err
		case "BOOL", "NULL":
			return 1, nil
		case "M":
			var members item
			if err := json.Unmarshal(raw, &members); err != nil {
				return 0, err
			}
			size, err := members.size()
			return container + len(members) + size, err
		case "L":
			var elements []map[string]json.RawMessage
			if err := json.Unmarshal(raw, &elements); err != nil {
				return 0, err
			}
			size := container + len(elements)
			for _, e := range elements {
				n, err := valueSize(e)
				if err != nil {
					return 0, err
				}
				size += n
			}
			return size, nil
		}
	}
	return 0, fmt.Errorf("a value of unknown type %v", value)
}
