package main

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// A machine is where a run took place.
type machine struct {
	CPU     string
	Cores   int
	Go      string
	Warning string // a sentence, if the machine was not idle before the run
}

var model = regexp.MustCompile(`(?m)^model name\s*:\s*(.*\S)`)

// thisMachine returns what can be found out. Not every system has the files of Linux.
func thisMachine() machine {
	version := strings.TrimPrefix(runtime.Version(), "go")
	m := machine{CPU: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: version}
	info, _ := os.ReadFile("/proc/cpuinfo")
	if found := model.FindSubmatch(info); found != nil {
		m.CPU = strings.Join(strings.Fields(string(found[1])), " ")
	}
	loads, _ := os.ReadFile("/proc/loadavg")
	minute, _, _ := strings.Cut(string(loads), " ")
	if load, err := strconv.ParseFloat(minute, 64); err == nil && load >= 0.5*float64(m.Cores) {
		m.Warning = " **The machine was not idle**: before the run, its load was " + minute + "."
	}
	return m
}
