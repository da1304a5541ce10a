// Command terraform evaluates configurations of Terraform, and prints the resources of each
// as a template of CloudFormation. It needs neither Terraform nor AWS. The tests of
// infra/cmd/examples compare the template with that of the CDK.
//
//	go run ./cmd/terraform ../infra/terraform/examples
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/lambda-once/once/proof/terraform"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: terraform FOLDER...")
		os.Exit(2)
	}
	for _, folder := range os.Args[1:] {
		if err := write(folder); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", folder, err)
			os.Exit(1)
		}
	}
}

func write(folder string) error {
	configuration, err := terraform.Evaluate(folder)
	if err != nil {
		return err
	}
	if len(configuration.Refusals) > 0 {
		return fmt.Errorf("it refuses itself:\n%s", strings.Join(configuration.Refusals, "\n"))
	}
	template, err := configuration.CloudFormation()
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(template)
}
