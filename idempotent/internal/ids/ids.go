// Package ids forms the ids of records, of requests to services, and of the owners
// that durable executions have. They are stored, so none of them ever changes.
package ids

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// RecordID returns operation#hash. The hash excludes personal data from table
// keys, and spreads partition keys whatever the shape of the IDs.
func RecordID(operation, scope, id string) string {
	var space [256 + 2*sha256.Size]byte
	sum := sha256.Sum256(appendPreimage(space[:0], scope, id))
	b := append(append(space[:0], operation...), '#')
	return string(hex.AppendEncode(b, sum[:]))
}

// DownstreamID returns a UUID (version 8, RFC 9562) for a request named name,
// sent from the steps of a path under a record.
func DownstreamID(record string, path []string, name string) string {
	base := appendPreimage(nil, record)
	base = appendPreimage(base, path...)
	sum := sha256.Sum256(appendPreimage(base, name))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ChainRoot shortens a text to 128 bits.
func ChainRoot(text string) string {
	sum := sha256.Sum256(appendPreimage(nil, text))
	return hex.EncodeToString(sum[:16])
}

// ExecutionOwner returns the owner of a record that a durable execution, or a
// step within one, claims in each of its invocations. It differs by record: two
// keys of one step must not share a fence. It differs by attempt, too.
func ExecutionOwner(record string, execution []string, attempt int64) string {
	base := binary.BigEndian.AppendUint64(appendPreimage(nil, record), uint64(attempt))
	sum := sha256.Sum256(appendPreimage(base, execution...))
	return "execution-" + hex.EncodeToString(sum[:16])
}

// appendPreimage prefixes each part with its length. Otherwise the scope "a"
// with the ID "bc" would have the record of "ab" with "c".
func appendPreimage(b []byte, parts ...string) []byte {
	for _, part := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// executionMark separates the owner of an execution's claim from the name of the
// execution. Neither the hash nor a random token contains it.
const executionMark = ":"

// NameExecution returns an owner of ExecutionOwner that contains the name of its
// execution. Every claim and takeover writes it with the same request, so it is
// never that of an earlier owner.
func NameExecution(owner, execution string) string { return owner + executionMark + execution }

// NamedExecution returns the name of the execution that an owner contains, or "".
func NamedExecution(owner string) string {
	_, execution, _ := strings.Cut(owner, executionMark)
	return execution
}

// IsSameExecution reports whether two owners are those of one execution, or of one
// step within it, and of one attempt. One of them may lack the name: an earlier
// version of the function wrote it.
func IsSameExecution(a, b string) bool {
	a, _, _ = strings.Cut(a, executionMark)
	b, _, _ = strings.Cut(b, executionMark)
	return a == b
}
