package canonical

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// Uncarried returns why a value of type t may not be the same after encoding/json has
// written and read it, or "". It trusts types that do both themselves, and takes the value of
// an any for one that came from JSON.
func Uncarried(t reflect.Type) string { return uncarried(t, map[reflect.Type]bool{}) }

// uncarried looks at each type once: a type may contain itself.
func uncarried(t reflect.Type, seen map[reflect.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch writes, reads := marshalsItself(t), unmarshalsItself(t); {
	case writes && reads:
		return ""
	case writes != reads && t.Kind() != reflect.Pointer:
		return "type " + t.String() + " either only writes or only reads its JSON itself"
	}
	switch t.Kind() {
	case reflect.Array, reflect.Map, reflect.Pointer, reflect.Slice:
		return uncarried(t.Elem(), seen)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return "type " + t.String() + " is an interface, whose values have no JSON to be read from"
		}
	case reflect.Struct:
		for f := range t.Fields() {
			if reason := uncarriedField(t, f, seen); reason != "" {
				return reason
			}
		}
	}
	return formless(t)
}

func uncarriedField(t reflect.Type, f reflect.StructField, seen map[reflect.Type]bool) string {
	name := "field " + f.Name + " of type " + t.String()
	switch {
	case f.Name == "_":
		return ""
	case !f.IsExported() && !f.Anonymous:
		return name + " is not exported"
	case f.Tag.Get("json") == "-":
		return name + ` has the tag json:"-"`
	}
	return uncarried(f.Type, seen)
}

func unmarshalsItself(t reflect.Type) bool {
	for _, t := range []reflect.Type{t, reflect.PointerTo(t)} {
		if t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return true
		}
	}
	return false
}
