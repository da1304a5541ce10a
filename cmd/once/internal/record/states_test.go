package record

import (
	"encoding/hex"
	"testing"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/form"
)

// What a request contains may be personal data: only its size is shown.
func TestRequestIsDescribed(t *testing.T) {
	for want, stored := range map[string]string{
		"4 bytes": "=Ada.", "kept elsewhere: s3://b/k": "@s3://b/k", "cannot be read": "?",
		"": "",
	} {
		r := &Record{}
		if stored != "" {
			r.Request = []byte(stored)
		}
		check.Equal(t, r.request(), want)
	}
	sealed, err := hex.DecodeString("ff7365616c65643a0104323032360000a0a1a2a3a4a5a6a7a8a9aaab9d3a154967f120cf4f54a5ae52070a8e7d62efa926629ef7207241a5")
	check.Must(t, err)
	r := &Record{Entry: driver.Entry{Record: driver.Record{Request: form.EncodeStep(form.Stored{Data: sealed})}}}
	check.Equal(t, r.request(), `sealed with key "2026", 56 bytes`)
}
