//go:build kubectl

package main

import (
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

func init() {
	programs["kubectl"] = func([]string) int { return cli.Run(kubectl.NewDefaultKubectlCommand()) }
}
