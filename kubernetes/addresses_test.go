package kubernetes

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Every address on a command line and in the configuration of the bus is that of a
// Service, or of one pod of a StatefulSet behind one, and every process listens on the
// ports of its container.
func TestAddressesExist(t *testing.T) {
	each(t, func(t *testing.T, _ Options, have *objects) {
		words := strings.FieldsFunc(have.configs["bus"].Data["nats.conf"], func(r rune) bool { return strings.ContainsRune(" \n\"[],", r) })
		for _, w := range have.workloads {
			for _, c := range w.containers() {
				for _, word := range c.Args {
					words = append(words, strings.Split(word, ",")...)
				}
			}
		}
		found := 0
		for _, word := range words {
			word = word[strings.LastIndex(word, "=")+1:]
			host, text, err := net.SplitHostPort(strings.TrimPrefix(word, "nats://"))
			if err != nil || host == "" || text == "" {
				continue
			}
			if err := have.reachable(host, text); err != nil {
				t.Errorf("%s: %v", word, err)
			}
			found++
		}
		if found < 18 {
			t.Errorf("only %d addresses in %q", found, words)
		}
	})
}

// reachable returns an error unless a host and port of the cluster exist.
func (o *objects) reachable(host, text string) error {
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	if host == "0.0.0.0" {
		for _, w := range o.workloads {
			for _, c := range w.containers() {
				if slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return int(p.ContainerPort) == port }) {
					return nil
				}
			}
		}
		return fmt.Errorf("no container has the port")
	}
	pod, service, ofPod := strings.Cut(host, ".")
	if !ofPod {
		service = host
	} else {
		w := o.workloads[service]
		i, err := strconv.Atoi(strings.TrimPrefix(pod, w.name+"-"))
		if err != nil || i >= w.replicas || w.service != service {
			return fmt.Errorf("no pod %s of %d", pod, w.replicas)
		}
	}
	s := o.services[service]
	if s == nil || !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return int(p.Port) == port }) {
		return fmt.Errorf("no such service or port")
	}
	return nil
}
