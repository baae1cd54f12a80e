// Command controlplane is etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kubectl in one program: one build, one file in the cache.
// The first argument, or the name it was started by, says which one to be.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func programs() map[string]func(args []string) int {
	return map[string]func(args []string) int{
		"etcd": func(args []string) int {
			etcdmain.Main(args)
			return 0
		},
		"kube-apiserver":          func([]string) int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func([]string) int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		"kube-scheduler":          func([]string) int { return cli.Run(scheduler.NewSchedulerCommand()) },
		"kubectl":                 func([]string) int { return cli.Run(kubectl.NewDefaultKubectlCommand()) },
	}
}

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args
	if _, known := programs()[name]; !known && len(os.Args) > 1 {
		name, args = os.Args[1], os.Args[1:]
	}
	run, known := programs()[name]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl [flags]")
		os.Exit(2)
	}
	os.Args = args
	os.Exit(run(args))
}
