package report

import (
	"os"
	"regexp"
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

var model = regexp.MustCompile(`(?m)^model name\s*:\s*(.*\S)`)

// cpuModel returns the name of the processor where the system tells it.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if found := model.FindSubmatch(text); err == nil && found != nil {
		return strings.Join(strings.Fields(string(found[1])), " ")
	}
	return runtime.GOOS + "/" + runtime.GOARCH
}

// Warning returns a sentence if the machine was not idle.
func (m Machine) Warning() string {
	load, err := strconv.ParseFloat(m.Load, 64)
	if err != nil || load < 0.5*float64(m.Cores) {
		return ""
	}
	return " **The machine was not idle**: before the run, its load was " + m.Load + "."
}
