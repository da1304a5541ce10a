package report

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// A Machine is where a run took place.
type Machine struct {
	CPU   string
	Cores int
	Go    string
	Node  string // "": without
	// Load is the load average of a minute, before the run, or "".
	Load string
}

// ThisMachine returns what can be found out.
func ThisMachine() Machine {
	m := Machine{CPU: cpuModel(), Cores: runtime.NumCPU(), Go: strings.TrimPrefix(runtime.Version(), "go")}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}

// cpuModel returns the name of the processor where the system tells it.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

// Warning says that the machine was not idle, or nothing.
func (m Machine) Warning() string {
	load, err := strconv.ParseFloat(m.Load, 64)
	if err != nil || load < 0.5*float64(m.Cores) {
		return ""
	}
	return " **The machine was not idle**: before the run, its load was " + m.Load + "."
}
