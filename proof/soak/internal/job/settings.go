package job

import (
	"encoding/json"
	"os"
	"time"
)

// Settings are those of a worker.
type Settings struct {
	Records, Effects string // tables
	Endpoint         string // of DynamoDB behind the weather
	Direct           string // of DynamoDB
	// Timeout is that of a delivery.
	Timeout time.Duration
	// Of package idempotent.
	Lease, ClockSkew, Reserve, Wait time.Duration
	CacheEntries                    int
	ReadFirst                       bool
	// Group is that of package dynamo.
	Group int
	// Of batches.
	Concurrency, Ahead, Unrecorded int
}

const settingsVar = "SOAK_SETTINGS"

// Env returns the environment variable with the settings.
func (s Settings) Env() (string, error) {
	text, err := json.Marshal(s)
	return settingsVar + "=" + string(text), err
}

// SettingsFromEnv returns the settings of this process.
func SettingsFromEnv() (s Settings, err error) {
	return s, json.Unmarshal([]byte(os.Getenv(settingsVar)), &s)
}
