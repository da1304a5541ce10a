package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// modules returns the cost of the module in a folder of the user, a line for each further
// module: "links", or "downloads" if only tests or unused packages need it.
func (u *user) modules(ctx context.Context, folder string) (string, error) {
	folder = filepath.Join(u.dir, folder)
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./...")
	command.Dir, command.Env, command.Stderr = folder, u.env, u.out
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	sums, err := os.ReadFile(filepath.Join(folder, "go.sum"))
	if err != nil {
		return "", err
	}
	linked := strings.Fields(string(out))
	var lines []string
	for line := range strings.Lines(string(sums)) {
		fields := strings.Fields(line) // a path, a version, and a checksum
		switch {
		case strings.HasSuffix(fields[1], "/go.mod"):
		case slices.Contains(linked, fields[0]):
			lines = append(lines, "links "+fields[0]+"\n")
		default:
			lines = append(lines, "downloads "+fields[0]+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ""), nil
}

// pinned is the file with the cost of each try.
const pinned = "proof/release/testdata/modules.txt"

// compare returns an error if a try costs something else than the file says.
func compare(root, name, modules string) error {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(pinned)))
	if err != nil {
		return err
	}
	_, section, _ := strings.Cut("\n"+string(text), "\n== "+name+"\n")
	section, _, _ = strings.Cut(section, "\n== ")
	if strings.TrimSpace(section) != strings.TrimSpace(modules) {
		return fmt.Errorf("its users link or download other modules than %s says. If that is meant, the section is now:\n\n== %s\n%s", pinned, name, modules)
	}
	return nil
}
