package kubernetes

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/compose"
)

//go:embed nats.conf.tmpl
var nats string

var natsFile = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("nats.conf").Funcs(template.FuncMap{"list": list}).Parse(nats))
})

// natsConfig returns the configuration of every server of the bus.
func natsConfig(users []bus.User) (string, error) {
	var b strings.Builder
	err := natsFile().Execute(&b, map[string]any{
		"Users": users, "Routes": addresses(routePort), "MaxPayload": bus.MaxPayload,
		"BusPort": compose.BusPort, "RoutePort": routePort, "MonitorPort": monitorPort,
	})
	return b.String(), err
}

// addresses returns the URLs of a port of all servers of the bus.
func addresses(port int) (urls []string) {
	for i := range servers {
		urls = append(urls, fmt.Sprintf("nats://bus-%d.bus:%d", i, port))
	}
	return urls
}

// sum returns a digest of a configuration. Pods are replaced if it changes.
func sum(config string) string {
	digest := sha256.Sum256([]byte(config))
	return hex.EncodeToString(digest[:8])
}
