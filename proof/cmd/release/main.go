// Command release prepares a release of all modules, and tries it as users would:
//
//	go -C proof run ./cmd/release version v0.1.0
//	go -C proof run ./cmd/release tidy
//	go -C proof run ./cmd/release check [-short]
//	go -C proof run ./cmd/release tags
//
// The first sets the version at which the modules require each other, the second runs
// "go mod tidy" in each, and the third uses them from empty folders, through a module
// proxy on disk. The last prints the tags of that version, if its records and requests are
// frozen. Run it in the folder proof.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/lambda-once/once/proof/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	const root = ".."
	if len(args) == 0 || len(args) > 2 {
		return errors.New("give version VERSION, tidy, check [-short], or tags")
	}
	if args[0] == "check" {
		return release.Check(ctx, os.Stdout, root, slices.Contains(args, "-short"))
	}
	tree, err := release.Read(root)
	switch {
	case err != nil:
		return err
	case args[0] == "tidy":
		return tree.Tidy(ctx, os.Stdout)
	case args[0] == "tags":
		if err := tree.Frozen(); err != nil {
			return err
		}
		fmt.Println(strings.Join(tree.Tags(), "\n"))
		return nil
	case args[0] == "version" && len(args) == 2:
		return tree.SetVersion(args[1])
	}
	return fmt.Errorf("unknown command %q", args[0])
}
