// Package keypath finds the key of a request with a JMESPath expression:
//
//	key := keypath.Path[json.RawMessage]("powertools_json(body).order.id")
//
// # From a result to a key
//
// A string is the key as it is. A number becomes an exact decimal, a boolean
// true or false, and a list or an object canonical JSON. So the number 1 and
// the string "1" are one key, as are true and "true". A string that starts with
// [, { or " is quoted as in JSON: no string becomes the key of a list.
//
// If a result is null, "", an empty list or object, or contains only such
// values, the key is missing. A list of one value and one null is a key: select
// only what every request has.
//
// # Numbers
//
// Numbers are as exact as the type of the request keeps them: json.RawMessage,
// []byte, json.Number and integers are exact. A map[string]any that Lambda
// decoded contains float64s, in which 9007199254740993 equals 9007199254740992.
//
// == compares numbers exactly.
//
// # Expressions
//
// Expressions select. Path refuses arithmetic, variables, the operators <, <=, >, >=, &
// and $, and all functions but join, to_string and those below: write a key function in
// Go for them.
//
// A slice of a string is a string: id[:3]. With anything but a pipe after the slice, as in
// id[:3].a, every request whose id is a string is refused.
//
// powertools_json(s), powertools_base64(s) and powertools_base64_gzip(s) decode a
// string as in Powertools for AWS Lambda: JSON, base64, and base64 of at most 10
// MiB compressed with gzip. If their argument is null, the key is missing.
//
// For *, the values of an object come in the order of its keys. So equal requests have
// equal keys.
package keypath
