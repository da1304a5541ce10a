package canonical

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// areFloat64s reports whether each number of a JSON text is exact as a float64. It
// reports true too often for a text that is not JSON, which json.Unmarshal
// refuses.
func areFloat64s(text []byte) bool {
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case b == '"':
			i = afterString(text, i+1)
		case b == '-' || isDigit(b):
			begin := i // bytes.TrimLeft would build its set of digits for each number
			for i < len(text) && (isDigit(text[i]) || strings.IndexByte("+-.eE", text[i]) >= 0) {
				i++
			}
			if !isFloat64(text[begin:i]) {
				return false
			}
		default:
			i++
		}
	}
	return true
}

func afterString(text []byte, i int) int {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// isFloat64 reports whether a number is the same decimal as a float64.
func isFloat64(number []byte) bool {
	const always = 15 // significant digits, where the exponent is small
	if len(number) <= always && !bytes.ContainsAny(number, "eE") {
		return true
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return false
	}
	exact, err := Append(nil, number)
	if err != nil {
		return false
	}
	converted, err := Append(nil, strconv.AppendFloat(nil, f, 'g', -1, 64))
	return err == nil && bytes.Equal(exact, converted)
}

// Unmarshal is json.Unmarshal, except that a number within an any decodes as a
// json.Number if a float64 would change its value.
func Unmarshal(data []byte, result any) error {
	if areFloat64s(data) || !json.Valid(data) { // a Decoder accepts text after the value
		return json.Unmarshal(data, result)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(result); err != nil {
		return err
	}
	settleNumbers(reflect.ValueOf(result))
	return nil
}

// settleNumbers converts the numbers in the interfaces of a decoded value to
// float64 if that is exact. It changes v in place.
func settleNumbers(v reflect.Value) {
	if !v.IsValid() || decodesItself(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			settleInterface(v)
		}
	case reflect.Pointer:
		settleNumbers(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			settleNumbers(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if mayContainNumbers(v.Type().Elem()) {
			for i := range v.Len() {
				settleNumbers(v.Index(i))
			}
		}
	case reflect.Map:
		if mayContainNumbers(v.Type().Elem()) {
			settleMap(v)
		}
	}
}

func settleInterface(v reflect.Value) {
	number, ok := v.Interface().(json.Number)
	if !ok {
		settleNumbers(v.Elem())
		return
	}
	if f, err := number.Float64(); err == nil && isFloat64([]byte(number)) {
		v.Set(reflect.ValueOf(f))
	}
}

// settleMap replaces the elements, as those of a map cannot be changed.
func settleMap(v reflect.Value) {
	if !v.CanInterface() {
		return
	}
	for i := v.MapRange(); i.Next(); {
		element := reflect.New(v.Type().Elem()).Elem()
		element.Set(i.Value())
		settleNumbers(element)
		v.SetMapIndex(i.Key(), element)
	}
}

// mayContainNumbers spares a walk over the elements of a []byte.
func mayContainNumbers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

// decodesItself reports whether a type decodes its own JSON or text. Its
// numbers are its own business, and its values may be cycles.
func decodesItself(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && unmarshalsItself(t)
}
