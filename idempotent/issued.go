package idempotent

import (
	"encoding/hex"
	"strings"
	"time"
)

// IssuedIn returns the time at which an id was made that contains it, for Key.Issued: a UUID of
// version 7 (RFC 9562), or a ULID. It returns the zero time for every other text. Who
// chooses the id also chooses the time.
func IssuedIn(id string) time.Time {
	switch len(id) {
	case 36:
		return inUUID(strings.ReplaceAll(id, "-", ""))
	case 26:
		return inULID(strings.ToUpper(id))
	}
	return time.Time{}
}

func inUUID(digits string) time.Time {
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != 16 || raw[6]>>4 != 7 {
		return time.Time{}
	}
	var ms int64
	for _, b := range raw[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}

func inULID(text string) time.Time {
	const base32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // of Crockford
	var ms int64
	for i, r := range text {
		digit := strings.IndexRune(base32, r)
		if digit < 0 || i == 0 && digit > 7 {
			return time.Time{}
		}
		if i < 10 {
			ms = ms<<5 | int64(digit)
		}
	}
	return time.UnixMilli(ms)
}
