package kubernetes

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rackfab/rackfab/bus"
)

// Every document decodes strictly, is in the namespace, which comes first, and has the
// recommended labels.
func TestObjects(t *testing.T) {
	each(t, func(t *testing.T, o Options, have *objects) {
		if have.order[0] != "Namespace" || have.namespace.Name != o.Namespace || have.namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
			t.Errorf("namespace %+v among %v", have.namespace, have.order)
		}
		want := 16 // and the scenario of a file, and the service of a live run
		for _, more := range []bool{o.Builtin == "", o.Live} {
			if more {
				want++
			}
		}
		if len(have.all) != want {
			t.Errorf("%d objects, want %d: %v", len(have.all), want, have.order)
		}
		for _, object := range have.all {
			l := object.GetLabels()
			if object.GetNamespace() != o.Namespace || l["app.kubernetes.io/name"] != "rackfab" || l["app.kubernetes.io/component"] == "" || l["app.kubernetes.io/managed-by"] != "rackfab" {
				t.Errorf("%s: namespace %q, labels %v", object.GetName(), object.GetNamespace(), l)
			}
		}
		if have.workloads["bus"].replicas != servers || have.workloads["worker"].replicas != o.Workers {
			t.Errorf("%d servers, %d workers", have.workloads["bus"].replicas, have.workloads["worker"].replicas)
		}
		if (have.job == nil) != o.Live {
			t.Errorf("live: %t, but a Job: %t", o.Live, have.job != nil)
		}
	})
}

// selected returns the names of the workloads whose pods a selector matches.
func (o *objects) selected(t *testing.T, selector *metav1.LabelSelector) (names []string) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range o.workloads {
		if s.Matches(labels.Set(w.pod.Labels)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Each selector matches the pods of one workload, and each port of a Service is one of
// their ports.
func TestSelectorsMatchPods(t *testing.T) {
	each(t, func(t *testing.T, _ Options, have *objects) {
		for name, s := range have.services {
			pods := have.selected(t, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
			if !slices.Equal(pods, []string{name}) {
				t.Errorf("service %s selects %v", name, pods)
				continue
			}
			for _, p := range s.Spec.Ports {
				if at := portOf(have.workloads[name], p.TargetPort.StrVal); at == 0 || at != p.Port {
					t.Errorf("service %s: port %s is %d, of the container %d", name, p.Name, p.Port, at)
				}
			}
		}
		for name, w := range have.workloads {
			if w.selector != nil && !slices.Equal(have.selected(t, w.selector), []string{name}) {
				t.Errorf("%s selects %v", name, have.selected(t, w.selector))
			}
			if s := have.services[w.service]; w.service != "" && (s == nil || s.Spec.ClusterIP != corev1.ClusterIPNone) {
				t.Errorf("%s has the service %q, which is %v", name, w.service, s)
			}
			for _, c := range w.pod.Spec.TopologySpreadConstraints {
				if pods := have.selected(t, c.LabelSelector); !slices.Equal(pods, []string{name}) {
					t.Errorf("%s is spread with %v", name, pods)
				}
			}
		}
		for name, b := range have.budgets {
			if pods := have.selected(t, b.Spec.Selector); !slices.Equal(pods, []string{name}) || b.Spec.MaxUnavailable.IntVal != 1 {
				t.Errorf("the disruption budget %s of %v: %+v", name, pods, b.Spec)
			}
		}
	})
}

// portOf returns the port of that name of a pod, 0 if it has none.
func portOf(w workload, name string) int32 {
	for _, c := range w.containers() {
		for _, p := range c.Ports {
			if p.Name == name {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// Every Secret and ConfigMap is mounted, and every mounted one exists. A file named on a
// command line is in a mounted folder.
func TestVolumesExist(t *testing.T) {
	each(t, func(t *testing.T, _ Options, have *objects) {
		used := map[string]bool{}
		for name, w := range have.workloads {
			files := map[string][]string{} // by volume; nil for an empty folder
			for _, v := range w.pod.Spec.Volumes {
				switch {
				case v.Secret != nil:
					used["secret "+v.Secret.SecretName] = true
					files[v.Name] = keysOf(t, have.secrets[v.Secret.SecretName].StringData)
					if *v.Secret.DefaultMode != 0o440 {
						t.Errorf("%s: the key has mode %o", name, *v.Secret.DefaultMode)
					}
				case v.ConfigMap != nil:
					used["config "+v.ConfigMap.Name] = true
					files[v.Name] = keysOf(t, have.configs[v.ConfigMap.Name].Data)
				case v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil:
					files[v.Name] = nil
				default:
					t.Errorf("%s: volume %+v", name, v)
				}
			}
			var paths, writable []string
			for _, c := range w.pod.Spec.Containers {
				for _, m := range c.VolumeMounts {
					list, ok := files[m.Name]
					if !ok || m.ReadOnly != (list != nil) {
						t.Errorf("%s: mount %+v of volumes %v", name, m, files)
					}
					delete(files, m.Name)
					if list == nil {
						writable = append(writable, m.MountPath)
					}
					for _, file := range list {
						paths = append(paths, m.MountPath+"/"+file)
					}
				}
				for _, word := range c.Args {
					own := slices.Contains(writable, word) || slices.Contains(writable, path.Dir(word))
					if strings.HasPrefix(word, "/") && !own && !slices.Contains(paths, word) {
						t.Errorf("%s: no %s among the mounted %v and below %v", name, word, paths, writable)
					}
				}
			}
			if len(files) > 0 {
				t.Errorf("%s does not mount %v", name, files)
			}
		}
		if len(used) != len(have.secrets)+len(have.configs) {
			t.Errorf("used: %v of %d secrets and %d configurations", used, len(have.secrets), len(have.configs))
		}
	})
}

func keysOf(t *testing.T, of map[string]string) (keys []string) {
	t.Helper()
	if len(of) != 1 {
		t.Fatalf("want one file, have %d", len(of))
	}
	for key := range of {
		keys = append(keys, key)
	}
	return keys
}

// Every pod satisfies the restricted Pod Security Standard, has requests and limits, and
// probes unless it ends by itself.
func TestPodsAreRestricted(t *testing.T) {
	each(t, func(t *testing.T, o Options, have *objects) {
		for name, w := range have.workloads {
			p := w.pod.Spec.SecurityContext
			if !*p.RunAsNonRoot || *p.RunAsUser != 65532 || *p.FSGroup != 65532 || p.SeccompProfile.Type != "RuntimeDefault" || *w.pod.Spec.AutomountServiceAccountToken || *w.pod.Spec.EnableServiceLinks {
				t.Errorf("%s: %+v", name, p)
			}
			for i, c := range w.containers() {
				s := c.SecurityContext
				if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || s.Capabilities.Add != nil {
					t.Errorf("%s %s: %+v", name, c.Name, s)
				}
				if memory := c.Resources.Limits.Memory(); c.Resources.Requests.Cpu().IsZero() || memory.IsZero() || !memory.Equal(*c.Resources.Requests.Memory()) {
					t.Errorf("%s %s: %+v", name, c.Name, c.Resources)
				}
				if i >= len(w.pod.Spec.InitContainers) && w.name != "run" {
					checkProbes(t, w, c)
				}
				if want := map[bool]string{true: o.NATSImage, false: o.Image}[name == "bus"]; c.Image != want {
					t.Errorf("%s runs %s, want %s", name, c.Image, want)
				}
			}
		}
	})
}

// checkProbes checks that the three probes ask a port of the container.
func checkProbes(t *testing.T, w workload, c corev1.Container) {
	t.Helper()
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		switch {
		case p == nil:
			t.Errorf("%s lacks a probe", w.name)
		case p.GRPC != nil && p.GRPC.Port == portOf(w, "grpc"):
		case p.HTTPGet != nil && portOf(w, p.HTTPGet.Port.StrVal) == monitorPort:
		default:
			t.Errorf("%s: probe %+v", w.name, p)
		}
	}
}

// The bus admits the two keys that the pods have, each with the permissions of its role
// in any rack. Each output has new keys, and a new checksum, which replaces the pods.
func TestKeys(t *testing.T) {
	sums := map[string]bool{}
	each(t, func(t *testing.T, o Options, have *objects) {
		config := have.configs["bus"].Data["nats.conf"]
		for role, nodes := range map[string][]string{"controller": nil, "worker": {"*"}} {
			key, err := bus.ParseKey(have.secrets[role+"-key"].StringData["nkey"])
			if err != nil {
				t.Fatal(err)
			}
			user, err := bus.UserOf("*", key, nodes...)
			if err != nil {
				t.Fatal(err)
			}
			_, after, ok := strings.Cut(config, "{nkey: "+user.Public+", permissions: {")
			own, _, _ := strings.Cut(after, "\n    }}")
			for line, subjects := range map[string][]string{"publish": user.Publish, "subscribe": user.Subscribe} {
				want := line + `: {allow: ["` + strings.Join(subjects, `", "`) + `"]}`
				if !ok || !strings.Contains(own, want) {
					t.Errorf("the %s lacks %s in\n%s", role, want, own)
				}
			}
		}
		for _, name := range []string{"bus", "worker", o.launcher()} {
			sums[have.workloads[name].pod.Annotations["checksum/config"]] = true
		}
	})
	if len(sums) != len(variants(t)) || sums[""] {
		t.Errorf("checksums of %d outputs: %v", len(variants(t)), sums)
	}
}

// The processes of a worker listen on the ports of its container: its own, and one per
// processor.
func TestWorkerPorts(t *testing.T) {
	each(t, func(t *testing.T, _ Options, have *objects) {
		c := have.workloads["worker"].containers()[1]
		cores := int32(c.Resources.Limits.Cpu().Value())
		var ports []int32
		for _, p := range c.Ports {
			ports = append(ports, p.ContainerPort)
		}
		want := []int32{portOf(have.workloads["worker"], "grpc")}
		for i := range cores {
			want = append(want, want[0]+1+i)
		}
		if !slices.Equal(ports, want) || !slices.Contains(c.Args, fmt.Sprintf("%s:%d", every, want[0])) || !strings.Contains(strings.Join(c.Args, " "), fmt.Sprintf("--cores %d ", cores)) {
			t.Errorf("ports %v, want %v of %q", ports, want, c.Args)
		}
	})
}

// The scenario's file is in the cluster byte for byte, whatever its first line is.
func TestScenarioFileIsUnchanged(t *testing.T) {
	o := variants(t)["run of a file"]
	for _, before := range []string{"", "  # indented\n", "\n\n"} {
		o.Text = append([]byte(before), variants(t)["run of a file"].Text...)
		text, err := Manifests(o)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(o.Text), decode(t, text).configs["scenario"].Data["scenario.yaml"]); d != "" {
			t.Errorf("-file +ConfigMap:\n%s", d)
		}
	}
}

func TestInvalidOptions(t *testing.T) {
	o := variants(t)["run of a file"]
	o.Namespace, o.Image, o.NATSImage, o.Workers, o.Text = "Rack", "", "a b", 0, make([]byte, 1<<20)
	_, err := Manifests(o)
	for _, want := range []string{
		`--namespace "Rack": must be a DNS label`, "--workers 0: must be 1 to 40, the nodes of leaf-spine",
		`--image "": must be`, `--nats-image "a b": must be`, "scenario of 1048576 bytes: must be at most 1047552",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, namespace := range []string{"default", "kube-system"} {
		o := variants(t)["run"]
		o.Namespace = namespace
		if _, err := Manifests(o); err == nil || !strings.Contains(err.Error(), "a namespace of the rack's own") {
			t.Errorf("%s: %v", namespace, err)
		}
	}
}

// The image of the bus is the release that `rackfab bus` embeds.
func TestNATSImageIsTheEmbeddedRelease(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/nats-io/nats-server/v2 v" + strings.TrimPrefix(NATSImage, "nats:") + "\n"; !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %s", want)
	}
}
