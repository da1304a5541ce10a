// Package golangci is oncevet as a plugin of golangci-lint, which builds itself with the
// plugins that .custom-gcl.yml names:
//
//	plugins:
//	  - module: github.com/lambda-once/once/cmd/once
//	    import: github.com/lambda-once/once/cmd/once/oncevet/golangci
//	    version: v0.1.0
//
// In .golangci.yml it is a custom linter of the type module with the name oncevet.
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/lambda-once/once/cmd/once/oncevet"
)

func init() {
	register.Plugin("oncevet", func(any) (register.LinterPlugin, error) { return plugin{}, nil })
}

type plugin struct{}

func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return oncevet.Analyzers, nil }

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
