// Package powertools computes the keys of Powertools for AWS Lambda, so that
// functions in Go share the records of functions in Python and TypeScript:
//
//	key := powertools.Key[json.RawMessage](powertools.Python, "pay.app.lambda_handler",
//		"powertools_json(body).order.id", nil)
//
// The id of a record is a prefix, #, and the digest of the value that a JMESPath
// expression selects from the event, in a canonical text. Each language has its own
// canonical text, order of keys, numbers and spelling of the digest. The keys here
// are the same, byte for byte, as those of @aws-lambda-powertools/idempotency 2.35 on
// Node, and of json.dumps, jmespath and hashlib of Python 3, which Powertools for
// Python calls.
//
// # From the event to the text
//
// Numbers and strings are those of the event's JSON. TypeScript reads all
// numbers as float64: 9007199254740993 and 9007199254740992 are one key, and
// 1.0 and 1 are. In Python, integers are exact, and 1.0 and 1 are two keys.
// Lone surrogates are kept. Members named __proto__ do not affect a key of
// TypeScript.
//
// # Limits
//
// The package refuses expressions and events whose keys depend on a version or on an
// accident. [Key] panics and [New] returns an error for these parts of an expression:
//
//   - the functions other than join, to_string and the three of Powertools, and the
//     operators <, <=, >, >= and &: expressions select. Change such an expression in all
//     functions that share the table;
//   - in TypeScript, members that every object inherits, such as constructor;
//   - in Python, the functions of Powertools in Options.Validation, where
//     Powertools itself does not know them.
//
// The key function returns an [*idempotent.InvalidPayloadError] for an event
// that has
//
//   - base64 which is not of the standard alphabet with padding, in Python: it
//     skips foreign characters (in TypeScript, such base64 is undefined);
//   - base64 of bytes that are not UTF-8, which TypeScript would replace;
//   - more than 10 MiB compressed with gzip, or JSON of more than 10,000 levels;
//   - integers of more than 4,300 digits in Python, which does not decode them;
//   - in TypeScript, members with a capital letter that Unicode 16 or 17 brought
//     (Garay, Beria Erfe, seven Latin and a Cyrillic one), or with a capital
//     sigma and a code point that Unicode 15 lacks: their order depends on the
//     version of Node;
//   - arguments of the wrong type for a function. Some of them mean something in
//     one language by accident.
//
// Two settings of Powertools change its keys, and have no counterpart here:
// functions of one's own in jmesPathOptions or jmespath_options, and an event that is
// hashed after a parser or a data class has changed it.
//
// # Missing keys
//
// Each language decides in its own way that a selection is a missing key:
//
//   - Python: null, "", {}, and a list that contains nothing but null;
//   - TypeScript: a falsy value, such as null, 0 and "", and a list or an object
//     that contains only falsy values.
//
// The key function returns an [*idempotent.MissingKeyError] for it. By default,
// a function in Python then runs unprotected. For the same, set
// idempotent.Config.OnMissingKey to [idempotent.RunMissingKey]. A function in
// TypeScript does so only for null, and hashes everything else: see
// [Options.HashMissing].
//
// # Shared records
//
// The key alone is not enough: results need the form that Powertools reads, and
// functions must not use features whose data it would lose. [NewExecutor] ensures
// both.
//
// A function in TypeScript must use makeIdempotent: up to at least 2.35.0, the
// middleware for Middy deletes the records of calls that it refuses. It must also leave
// its event unchanged, because the changed event completes a different record.
package powertools
