package kubernetes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The network policies admit the connections of a rack and no others, in both directions.
func TestPoliciesAdmitTheFlowsOfARackOnly(t *testing.T) {
	each(t, func(t *testing.T, o Options, have *objects) {
		l := o.launcher()
		want := []string{
			"bus>bus:6222", l + ">bus:4222", l + ">collector:4317", l + ">worker:7000", l + ">worker:7001", "worker>bus:4222", "worker>collector:4317",
		}
		if o.Live {
			want = append(want, "collector>controller:7000")
		}
		slices.Sort(want)
		if d := cmp.Diff(want, have.flows(t)); d != "" {
			t.Errorf("-want +admitted:\n%s", d)
		}
		for name := range have.workloads {
			for _, port := range []int32{53, 443} {
				if out := have.admits(t, name, "", networkingv1.PolicyTypeEgress, port); out != (port == 53) {
					t.Errorf("%s reaches port %d of anything: %t", name, port, out)
				}
				if have.admits(t, name, "", networkingv1.PolicyTypeIngress, port) {
					t.Errorf("anything reaches port %d of %s", port, name)
				}
			}
		}
	})
}

// flows returns the admitted connections between pods, at every port of a container and
// some others.
func (o *objects) flows(t *testing.T) (list []string) {
	t.Helper()
	ports := []int32{22, 80, 443, 6999}
	for port := int32(7000); port < 7010; port++ {
		ports = append(ports, port)
	}
	for _, w := range o.workloads {
		for _, c := range w.containers() {
			for _, p := range c.Ports {
				ports = append(ports, p.ContainerPort)
			}
		}
	}
	slices.Sort(ports)
	for from := range o.workloads {
		for to := range o.workloads {
			for _, port := range slices.Compact(ports) {
				if o.admits(t, from, to, networkingv1.PolicyTypeEgress, port) && o.admits(t, to, from, networkingv1.PolicyTypeIngress, port) {
					list = append(list, fmt.Sprintf("%s>%s:%d", from, to, port))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// admits reports whether the policies of a pod admit a connection with another pod, or
// with anything else if that is "", in one direction. A pod without policies is open.
func (o *objects) admits(t *testing.T, pod, other string, direction networkingv1.PolicyType, port int32) bool {
	t.Helper()
	closed := false
	for _, p := range o.policies {
		if !slices.Contains(o.selected(t, &p.Spec.PodSelector), pod) || !slices.Contains(p.Spec.PolicyTypes, direction) {
			continue
		}
		closed = true
		if direction == networkingv1.PolicyTypeIngress {
			for _, r := range p.Spec.Ingress {
				if o.matches(t, r.From, other) && within(r.Ports, port) {
					return true
				}
			}
			continue
		}
		for _, r := range p.Spec.Egress {
			if o.matches(t, r.To, other) && within(r.Ports, port) {
				return true
			}
		}
	}
	return !closed
}

// matches reports whether the peers of a rule include a pod. Without peers it includes
// everything.
func (o *objects) matches(t *testing.T, peers []networkingv1.NetworkPolicyPeer, pod string) bool {
	t.Helper()
	for _, p := range peers {
		if p.NamespaceSelector != nil || p.IPBlock != nil {
			t.Fatalf("peer outside the namespace: %+v", p)
		}
		if slices.Contains(o.selected(t, p.PodSelector), pod) {
			return true
		}
	}
	return len(peers) == 0
}

// within reports whether the ports of a rule include a port. Without ports it includes all.
func within(ports []networkingv1.NetworkPolicyPort, port int32) bool {
	for _, p := range ports {
		last := p.Port.IntVal
		if p.EndPort != nil {
			last = *p.EndPort
		}
		if p.Port.IntVal <= port && port <= last {
			return true
		}
	}
	return len(ports) == 0
}

// The empty selector of a policy would include the pods of others in the namespace.
func TestPoliciesSelectTheRackOnly(t *testing.T) {
	each(t, func(t *testing.T, _ Options, have *objects) {
		for name, p := range have.policies {
			if len(have.selected(t, &p.Spec.PodSelector)) == 0 || p.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"] != "rackfab" {
				t.Errorf("%s: %+v", name, metav1.FormatLabelSelector(&p.Spec.PodSelector))
			}
		}
	})
}
