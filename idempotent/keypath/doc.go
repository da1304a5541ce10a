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
// Functions compute with exact decimals. avg rounds at the twentieth decimal place
// after those of its numbers. sum and avg refuse numbers of more than 1,000 places
// before or after the point. == compares numbers exactly.
//
// # Expressions
//
// Path supports the functions of JMESPath Community. sort takes only strings: use
// sort_by(list, &@) for numbers. find_first and find_last count code points, and
// pad_left and pad_right bytes.
//
// A slice of a string is a string: id[:3]. A function of it follows a pipe, as in
// id[:3] | lower(@). With anything else after the slice, as in id[:3].lower(@), every
// request whose id is a string is refused.
//
// Path refuses arithmetic, variables, the comparisons <, <=, > and >=, and number
// literals, except for the counts and positions that functions such as pad_left and
// find_first take.
//
// powertools_json(s), powertools_base64(s) and powertools_base64_gzip(s) decode a
// string as in Powertools for AWS Lambda: JSON, base64, and base64 of at most 10
// MiB compressed with gzip. If their argument is null, the key is missing.
//
// In values, keys, items and for *, the values of an object come in the order of
// its keys. So equal requests have equal keys.
package keypath
