package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version prints the module's version, or the commit that the program was built
// from, and the version of Go.
func version(_ context.Context, c *call) error {
	if _, err := c.parse(0); err != nil {
		return err
	}
	built := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = cmp.Or(info.Main.Version, built)
	}
	_, err := fmt.Fprintf(c.out, "once %s, %s %s/%s\n", built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
