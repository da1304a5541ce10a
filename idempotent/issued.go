package idempotent

import (
	"encoding/hex"
	"strings"
	"time"
)

// IssuedIn returns the time at which an id was made that contains it, for Key.Issued: a UUID of
// version 7 (RFC 9562), or a ULID. It returns the zero time for most other texts, but takes
// every text of 26 letters and digits for a ULID: use it only where the form is known. Who
// chooses the id also chooses the time.
func IssuedIn(id string) time.Time {
	switch len(id) {
	case 36:
		return inUUID(id)
	case 26:
		return inULID(id)
	}
	return time.Time{}
}

func inUUID(text string) time.Time {
	raw, err := hex.DecodeString(text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:])
	const version, variant = 7, 2
	if err != nil || raw[6]>>4 != version || raw[8]>>6 != variant {
		return time.Time{}
	}
	for _, at := range []int{8, 13, 18, 23} {
		if text[at] != '-' {
			return time.Time{}
		}
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
	for i, c := range []byte(text) {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		digit := strings.IndexByte(base32, c)
		if digit < 0 || i == 0 && digit > 7 {
			return time.Time{}
		}
		if i < 10 {
			ms = ms<<5 | int64(digit)
		}
	}
	return time.UnixMilli(ms)
}
