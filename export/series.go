package export

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/sweep"
)

// Series returns the time series of a run as tables, one row per bin and item; empty
// tables are left out. from_ps and to_ps bound the bin.
func Series(run *measure.Run) (tables []*sweep.Table) {
	s := run.Series
	add := func(name, of string, columns []string, lists []list) {
		if len(lists) > 0 {
			tables = append(tables, binned(s.Bin, run.FabricTime, name, of, columns, lists))
		}
	}
	var queues, pauses, rates []list
	for _, q := range s.Queues {
		queues = append(queues, list{q.Port, [][]int64{q.Peak, q.End}})
	}
	for _, p := range s.Pauses {
		pauses = append(pauses, list{p.Link, [][]int64{p.Bins}})
	}
	for _, r := range s.Rates {
		values := make([]int64, len(r.Bins))
		for i, v := range r.Bins {
			values[i] = int64(v)
		}
		rates = append(rates, list{r.Name, [][]int64{values}})
	}
	add("queues", "port", []string{"queue_peak_bytes", "queue_bytes"}, queues)
	add("pauses", "link", []string{"pause_frames"}, pauses)
	add("rates", "flow", []string{"rate_bps"}, rates)
	add("delivered", "flow", []string{"delivered_bytes"}, plain(s.Goodput))
	add("sent", "flow", []string{"sent_bytes"}, plain(s.Sent))
	add("credit_granted", "pair", []string{"credit_granted_bytes"}, plain(s.Granted))
	add("credit_wasted", "pair", []string{"credit_wasted_bytes"}, plain(s.Wasted))
	add("tokens", "bucket", []string{"tokens_bytes"}, buckets(s.Tokens))
	add("stalls", "bucket", []string{"stall_ps"}, buckets(s.Stalls))
	return tables
}

// list is an item with its values per bin, one slice per column.
type list struct {
	name   string
	values [][]int64
}

func plain(series []measure.Series) (lists []list) {
	for _, s := range series {
		lists = append(lists, list{s.Name, [][]int64{s.Bins}})
	}
	return lists
}

// buckets names the series "h0 in": the node and the direction of the tokens.
func buckets(series []measure.ShaperSeries) (lists []list) {
	for _, s := range series {
		lists = append(lists, list{s.Node + " " + s.Direction, [][]int64{s.Bins}})
	}
	return lists
}

// binned returns a table of values per bin.
func binned(bin, end unit.Time, name, of string, columns []string, lists []list) *sweep.Table {
	return &sweep.Table{
		Name: name, Columns: slices.Concat(sweep.Integer.Columns("from_ps", "to_ps"), sweep.Text.Columns(of), sweep.Integer.Columns(columns...)),
		Rows: func(yield func([]any, error) bool) {
			for _, l := range lists {
				for i := range l.values[0] {
					from := unit.Time(i) * bin
					row := []any{int64(from), int64(min(from+bin, end)), l.name}
					for _, v := range l.values {
						row = append(row, v[i])
					}
					if !yield(row, nil) {
						return
					}
				}
			}
		},
	}
}
