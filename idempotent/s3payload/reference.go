package s3payload

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// A reference is stored in a record as "1:size:key". 1 is the version of the
// format, and the key ends with the digest.
type reference struct {
	size int64
	key  string
	sum  [sha256.Size]byte
}

func (s *Store) refer(data []byte) reference {
	sum := sha256.Sum256(data)
	return reference{size: int64(len(data)), key: s.prefix + hex.EncodeToString(sum[:]), sum: sum}
}

func (r reference) String() string { return "1:" + strconv.FormatInt(r.size, 10) + ":" + r.key }

// parse decodes a reference, and trusts no part of it: a writer of the table must not
// be able to make functions read objects outside the prefix.
func (s *Store) parse(text string) (reference, error) {
	version, rest, _ := strings.Cut(text, ":")
	size, key, ok := strings.Cut(rest, ":")
	if version != "1" || !ok {
		return reference{}, &ReferenceError{"unknown format"}
	}
	digest, ok := strings.CutPrefix(key, s.prefix)
	if !ok {
		return reference{}, &ReferenceError{"key without the prefix"}
	}
	r := reference{key: key}
	var err error
	if r.size, err = strconv.ParseInt(size, 10, 64); err != nil || r.size < 0 {
		return reference{}, &ReferenceError{"size is not a number"}
	}
	if n, err := hex.Decode(r.sum[:], []byte(digest[:min(len(digest), 2*sha256.Size)])); err != nil || n != sha256.Size {
		return reference{}, &ReferenceError{"key without a digest"}
	}
	if r.String() != text || hex.EncodeToString(r.sum[:]) != digest {
		return reference{}, &ReferenceError{"not in canonical form"}
	}
	return r, nil
}
