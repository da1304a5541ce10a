// Command oncevet reports handlers that are not safe to call twice. It runs by itself, and
// within go vet:
//
//	go install github.com/lambda-once/once/cmd/once/cmd/oncevet@latest
//	oncevet ./...
//	go vet -vettool=$(which oncevet) ./...
//
// Package oncevet lists the rules; each is a flag that runs it alone, such as -effect.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/lambda-once/once/cmd/once/oncevet"
)

func main() { multichecker.Main(oncevet.Analyzers...) }
