package explain

import (
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Errors counts the frames that one direction of the link lost or damaged in the
// range.
type Errors struct {
	Link    string `json:"link"` // "x->y": from x to y
	Lost    int    `json:"lost_frames"`
	Damaged int    `json:"damaged_frames"` // arrived with a bad FCS
	PFC     int    `json:"pfc_frames"`     // PAUSE and RESUME among both
}

// linkError counts a frame from one node to another if it was lost or damaged on the
// link in question.
func (o *observer) linkError(from, to int, at unit.Time, way node.Way, f *frame.Frame) {
	forth := from == o.X && to == o.Y
	if way != node.Gone && way != node.Damaged || !forth && (from != o.Y || to != o.X) || at < o.From || at >= o.To {
		return
	}
	e := &o.errors[0]
	if !forth {
		e = &o.errors[1]
	}
	e.Link = o.link(from, to)
	if way == node.Gone {
		e.Lost++
	} else {
		e.Damaged++
	}
	if f.Class() == frame.ClassPFC {
		e.PFC++
	}
}

// linkErrors lists the directions of the link that lost or damaged frames.
func (o *observer) linkErrors() (list []Errors) {
	for _, e := range o.errors {
		if e.Link != "" {
			list = append(list, e)
		}
	}
	return list
}

// linkErrors writes the link errors.
func (r *Report) linkErrors(b *strings.Builder) {
	for _, e := range r.Errors {
		fmt.Fprintf(b, "\nlink errors on %s: %d frames lost, %d damaged; %d of them PAUSE or RESUME\n", e.Link, e.Lost, e.Damaged, e.PFC)
	}
}
