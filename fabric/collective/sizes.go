package collective

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Sizes has the bytes that each rank has for each other one, of an all-to-allv: those from rank i to
// rank j are Sizes[i][j]. A rank's data for itself stays where it is.
type Sizes [][]unit.Bytes

// validate returns the first Fault of the sizes among a number of ranks, of which each message has a
// number of pieces.
func (s Sizes) validate(ranks, pieces int) *Fault {
	if len(s) != ranks {
		return &Fault{"sizes", fmt.Sprintf("%d rows, want one of each of the %d ranks", len(s), ranks)}
	}
	for from, row := range s {
		if len(row) != ranks {
			return &Fault{"sizes", fmt.Sprintf("%d sizes in the row of rank %d, want one for each of the %d ranks", len(row), from, ranks)}
		}
		for to, size := range row {
			switch piece := (int64(size) + int64(pieces) - 1) / int64(pieces); {
			case size < 0 || size > MaxSize:
				return &Fault{"sizes", fmt.Sprintf("%s from rank %d to rank %d, want 0B to %s", size, from, to, MaxSize)}
			case from != to && piece > int64(program.MaxMessage):
				return &Fault{"sizes", fmt.Sprintf("messages of %s from rank %d to rank %d, want at most %s: more channels or chunks", unit.Bytes(piece), from, to, program.MaxMessage)}
			}
		}
	}
	if s.busiest(false) == 0 {
		return &Fault{"sizes", "no rank has data for another one"}
	}
	return nil
}

// busiest returns the most bytes that a rank has for all ranks, or that all ranks have for one. Those of
// a rank for itself count if own is set.
func (s Sizes) busiest(own bool) unit.Bytes {
	rows, columns := make([]unit.Bytes, len(s)), make([]unit.Bytes, len(s))
	for from, row := range s {
		for to, size := range row {
			if own || from != to {
				rows[from] += size
				columns[to] += size
			}
		}
	}
	return max(slices.Max(rows), slices.Max(columns))
}

// messages returns the number of messages, of which each pair of ranks has at most one per piece.
func (s Sizes) messages(pieces int) (n int) {
	for from, row := range s {
		for to, size := range row {
			if from != to {
				n += int(min(unit.Bytes(pieces), size))
			}
		}
	}
	return n
}
