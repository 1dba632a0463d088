package inspect

import (
	"strings"
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/sweep"
)

// The points of a metric become rows, and its unit becomes the suffix of the column.
func TestMetricTable(t *testing.T) {
	port := int32(2)
	for _, c := range []struct {
		metric, unit string
		values       []float64
		want         string
	}{
		{"rackfab.port.queue", "By", []float64{1000, 0.5}, "at_ps,node,port,peer,flow,direction,queue_bytes\n5,s1,2,h0,,,1000\n9,s1,2,h0,,,0.5\n"},
		{"rackfab.port.queue.max", "By", []float64{1000, 0.5}, "at_ps,node,port,peer,flow,direction,queue_max_bytes\n5,s1,2,h0,,,1000\n9,s1,2,h0,,,0.5\n"},
		{"rackfab.flow.rate", "bit/s", []float64{4e10, 2.5e9}, "at_ps,node,port,peer,flow,direction,rate_bps\n5,s1,2,h0,,,40000000000\n9,s1,2,h0,,,2500000000\n"},
		{"rackfab.port.paused", "ps", []float64{1, 2}, "at_ps,node,port,peer,flow,direction,paused_ps\n5,s1,2,h0,,,1\n9,s1,2,h0,,,2\n"},
		{"rackfab.port.pauses", "1", []float64{0, 3}, "at_ps,node,port,peer,flow,direction,pauses\n5,s1,2,h0,,,0\n9,s1,2,h0,,,3\n"},
	} {
		series := []*rackfabv1.Series{
			{Metric: c.metric, Unit: c.unit, Node: "s1", Port: &port, Peer: "h0", TimesPs: []int64{5, 9}, Values: c.values},
		}
		var b strings.Builder
		if err := sweep.WriteCSV(&b, seriesTable(c.metric, series)); err != nil || b.String() != c.want {
			t.Errorf("%s: %v\n%s", c.metric, err, b.String())
		}
	}
}
