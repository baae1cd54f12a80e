// Command controlplane is etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kwok in one program: one build, which compiles what they
// share once, one link, and one file in the cache. With the build tag kubectl it
// is kubectl, too. The first argument, or the name it was started by, says which
// one to be.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Each program by its name; it gets the arguments, its name among them, and
// returns its exit code.
var programs = map[string]func(args []string) int{
	"etcd": func(args []string) int {
		etcdmain.Main(args)
		return 0
	},
	"kube-apiserver":          func([]string) int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func([]string) int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func([]string) int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kwok":                    kwok,
}

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args
	if _, known := programs[name]; !known && len(os.Args) > 1 {
		name, args = os.Args[1], os.Args[1:]
	}
	run, known := programs[name]
	if !known {
		names := strings.Join(slices.Sorted(maps.Keys(programs)), "|")
		fmt.Fprintf(os.Stderr, "usage: controlplane %s [flags]\n", names)
		os.Exit(2)
	}
	os.Args = args
	os.Exit(run(args))
}
