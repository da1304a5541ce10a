//go:build race

package oncevet_test

func init() { flags = []string{"-race"} }
