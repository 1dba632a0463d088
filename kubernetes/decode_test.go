package kubernetes

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// workload is an object that makes pods.
type workload struct {
	name     string
	replicas int
	service  string // of a StatefulSet
	selector *metav1.LabelSelector
	pod      corev1.PodTemplateSpec
}

// objects are the decoded manifests, by name.
type objects struct {
	all       []metav1.Object
	order     []string // kinds, in the order of the stream
	namespace *corev1.Namespace
	secrets   map[string]*corev1.Secret
	configs   map[string]*corev1.ConfigMap
	services  map[string]*corev1.Service
	workloads map[string]workload
	job       *batchv1.Job
	budgets   map[string]*policyv1.PodDisruptionBudget
	policies  map[string]*networkingv1.NetworkPolicy
}

// decodeAs decodes a document as an API server does with strict validation. Unknown and
// repeated keys are errors, and case matters.
func decodeAs[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if faults, err := json.UnmarshalStrict(data, object); err != nil || len(faults) > 0 {
		t.Fatalf("%v %v in\n%s", err, faults, text)
	}
	return object
}

// decode decodes manifests strictly into the official types.
func decode(t *testing.T, text []byte) *objects {
	t.Helper()
	o := &objects{
		secrets: map[string]*corev1.Secret{}, configs: map[string]*corev1.ConfigMap{}, services: map[string]*corev1.Service{},
		workloads: map[string]workload{}, budgets: map[string]*policyv1.PodDisruptionBudget{}, policies: map[string]*networkingv1.NetworkPolicy{},
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		o.add(t, document+"\n")
	}
	return o
}

func (o *objects) add(t *testing.T, text string) {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	o.order = append(o.order, kind.Kind)
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Namespace":
		o.namespace = decodeAs[corev1.Namespace](t, text)
	case "v1 Secret":
		keep(t, o, o.secrets, decodeAs[corev1.Secret](t, text))
	case "v1 ConfigMap":
		keep(t, o, o.configs, decodeAs[corev1.ConfigMap](t, text))
	case "v1 Service":
		keep(t, o, o.services, decodeAs[corev1.Service](t, text))
	case "policy/v1 PodDisruptionBudget":
		keep(t, o, o.budgets, decodeAs[policyv1.PodDisruptionBudget](t, text))
	case "networking.k8s.io/v1 NetworkPolicy":
		keep(t, o, o.policies, decodeAs[networkingv1.NetworkPolicy](t, text))
	case "apps/v1 StatefulSet":
		s := decodeAs[appsv1.StatefulSet](t, text)
		o.run(t, s, workload{s.Name, int(*s.Spec.Replicas), s.Spec.ServiceName, s.Spec.Selector, s.Spec.Template})
	case "apps/v1 Deployment":
		d := decodeAs[appsv1.Deployment](t, text)
		o.run(t, d, workload{d.Name, int(*d.Spec.Replicas), "", d.Spec.Selector, d.Spec.Template})
	case "batch/v1 Job":
		o.job = decodeAs[batchv1.Job](t, text)
		o.run(t, o.job, workload{o.job.Name, 1, "", nil, o.job.Spec.Template})
	default:
		t.Fatalf("unknown kind %+v in\n%s", kind, text)
	}
}

// keep adds an object to those of its kind.
func keep[T metav1.Object](t *testing.T, o *objects, of map[string]T, object T) {
	t.Helper()
	if _, twice := of[object.GetName()]; twice {
		t.Errorf("%s twice", object.GetName())
	}
	of[object.GetName()] = object
	o.all = append(o.all, object)
}

func (o *objects) run(t *testing.T, object metav1.Object, w workload) {
	t.Helper()
	if _, twice := o.workloads[w.name]; twice {
		t.Errorf("%s twice", w.name)
	}
	o.workloads[w.name] = w
	o.all = append(o.all, object)
}

// containers returns all containers of a pod.
func (w workload) containers() []corev1.Container {
	return slices.Concat(w.pod.Spec.InitContainers, w.pod.Spec.Containers)
}

// variants are options for every branch of the templates.
func variants(t *testing.T) map[string]Options {
	t.Helper()
	text, _ := scenariofile.Builtin("leaf-spine")
	s, err := scenariofile.Parse("leaf-spine", text)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Scenario: s, Builtin: "leaf-spine", Text: text, Image: "registry.example/rackfab:1", NATSImage: NATSImage, Namespace: "rack-1", Workers: 3}
	list := map[string]Options{"run": o}
	o.Live = true
	list["live"] = o
	o.Builtin = ""
	list["live of a file"] = o
	o.Live = false
	o.More = []string{"--scheme", "pfc,pcn", "--json"}
	list["run of a file"] = o
	return list
}

// each calls check for the decoded manifests of every variant.
func each(t *testing.T, check func(*testing.T, Options, *objects)) {
	t.Helper()
	for name, o := range variants(t) {
		t.Run(name, func(t *testing.T) {
			text, err := Manifests(o)
			if err != nil {
				t.Fatal(err)
			}
			check(t, o, decode(t, text))
		})
	}
}
