package driver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func TestEndingIsReadAsItWasStored(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_123)
	for text, e := range map[string]driver.Ending{
		"":                     {},
		`{"at":1800000000123}`: {At: at},
		`{"at":1800000000123,"type":"CardDeclined","code":"51"}`:        {At: at, Type: "CardDeclined", Code: "51"},
		`{"at":1800000000123,"by":"ann","reason":"refunded \"twice\""}`: {At: at, By: "ann", Reason: `refunded "twice"`},
		`{"by":"ann","reason":"a request to delete"}`:                   {By: "ann", Reason: "a request to delete"},
	} {
		check.Equal(t, e.Encode(), text)
		check.Equal(t, driver.DecodeEnding(text), e)
	}
}

func TestEndingThatIsNoneIsAbsent(t *testing.T) {
	for _, text := range []string{"yesterday", `{"at":"noon"}`, `{"at":`, `[1]`} {
		check.Equal(t, driver.DecodeEnding(text), driver.Ending{}, text)
	}
}

func TestTextsOfAnEndingAreCutToTheirLimits(t *testing.T) {
	long := strings.Repeat("é", 1000)
	e := driver.DecodeEnding(driver.Ending{At: time.UnixMilli(1), Type: long, Code: long, By: long, Reason: long}.Encode())
	for _, s := range []string{e.Type, e.Code, e.By} {
		check.Equal(t, s, long[:driver.MaxEndingName])
	}
	check.Equal(t, e.Reason, long[:driver.MaxEndingReason])
}
