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
func version(_ context.Context, to terminal, args []string) error {
	if _, err := parse(newFlags(to, "version", "Prints the version of this program, and of Go."), args, 0); err != nil {
		return err
	}
	built := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = cmp.Or(info.Main.Version, built)
	}
	_, err := fmt.Fprintf(to.out, "once %s, %s %s/%s\n", built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
