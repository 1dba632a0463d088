package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// StallLimit is the default of Options.Stall.
const StallLimit = 10 * time.Second

// overdue is the number of ticks without progress after which a grant counts as overdue,
// and without a message after which a process counts as silent: two beats of a process.
const overdue = int(2 * serve.BeatEvery / reportEvery)

// mostWaits is the maximum number of processes in a status.
const mostWaits = 16

// stalled returns why the rack does not advance, "" if it does.
func (r *run) stalled() string {
	switch {
	case r.failed != nil:
		return fmt.Sprintf("node %s failed: %s", r.failed.name, status.Convert(r.failed.failure).Message())
	case r.recovery.present != "":
		return "recovers from a loss: " + r.recovery.present
	case r.clock.reached < r.clock.granted && r.stuckFor() >= overdue:
		return fmt.Sprintf("stalled for %s: %s", seconds(r.stuckFor()), r.obstacle())
	case r.clock.reached == r.clock.end:
		return "the end of fabric time is reached"
	case r.clock.reached == r.clock.granted && len(silent(r.members.all)) > 0:
		return "waits for a message from " + quiet(silent(r.members.all))
	case r.clock.moving() || r.clock.reached < r.clock.granted:
		return ""
	}
	return r.clock.why
}

// stuckFor returns the number of ticks since any process that has not answered the current
// grant has advanced.
func (r *run) stuckFor() int {
	least := -1
	for _, m := range r.members.behind() {
		if least < 0 || m.still < least {
			least = m.still
		}
	}
	return least
}

// endStall fails the run permanently if no process has advanced for Options.Stall, although no
// process is lost: another attempt would stall again. If processes have lost the bus, which may
// be started again, they have twice as long to reach it, unless Options.Recover is 0.
func (r *run) endStall() {
	behind := r.members.behind()
	if r.failed != nil || len(behind) == 0 {
		return
	}
	o, limit := &r.service.options, r.service.options.Stall
	if o.Recover > 0 && slices.ContainsFunc(behind, func(m *member) bool { return m.progress.GetBusLost() }) {
		limit *= 2
	}
	if r.stuckFor() > int(limit/reportEvery) {
		r.recovery.final = true
		r.fail(blocked(behind), fmt.Errorf("no progress for %v: %s", limit, r.obstacle()))
	}
}

// blocked returns the process that keeps the others from their grant: the least advanced
// one if it works, and otherwise the one that has waited longest for an envelope. behind is
// sorted and not empty.
func blocked(behind []*member) *member {
	first := behind[0]
	if first.progress.GetWaitsFor() == "" {
		return first
	}
	for _, m := range behind {
		if m.progress.GetWaitsFor() != "" && m.progress.GetWaitsMs() > first.progress.GetWaitsMs() {
			first = m
		}
	}
	return first
}

// obstacle returns the cause of an overdue grant: the bus, silent processes, or one process.
func (r *run) obstacle() string {
	behind := r.members.behind()
	var cut []string
	for _, m := range behind {
		if m.progress.GetBusLost() {
			cut = append(cut, m.name)
		}
	}
	first := blocked(behind)
	switch waits := first.progress.GetWaitsFor(); {
	case len(cut) == len(behind):
		return "bus unreachable"
	case len(cut) > 0:
		return "bus unreachable from " + some(cut)
	case len(silent(behind)) > 0:
		return "waits for " + quiet(silent(behind))
	case waits != "":
		return fmt.Sprintf("%s waits for %s: no envelope for %d s", first.name, waits, first.progress.GetWaitsMs()/1000)
	}
	return fmt.Sprintf("waits for %s, which works at %s", first.name, unit.Time(first.progress.GetFabricTimePs()))
}

// silent returns the members of a list that have sent nothing for two beats.
func silent(list []*member) []*member {
	return slices.DeleteFunc(slices.Clone(list), func(m *member) bool { return m.silent < overdue })
}

// quiet names silent members, and how long the most silent one has been so.
func quiet(list []*member) string {
	var names []string
	ticks := 0
	for _, m := range list {
		names, ticks = append(names, m.name), max(ticks, m.silent)
	}
	return fmt.Sprintf("%s: silent for %s", some(names), seconds(ticks))
}

// waits lists the processes for which an overdue grant waits.
func (r *run) waits() (list []*rackfabv1.ProcessWait) {
	if r.failed != nil || r.recovery.present != "" || r.clock.reached == r.clock.granted || r.stuckFor() < overdue {
		return nil
	}
	for _, m := range r.members.behind() {
		if len(list) == mostWaits {
			break
		}
		list = append(list, &rackfabv1.ProcessWait{
			Process: m.name, AtPs: m.progress.GetFabricTimePs(), StillMs: millis(m.still), SilentMs: millis(m.silent),
			WaitsFor: m.progress.GetWaitsFor(), WaitsMs: m.progress.GetWaitsMs(), BusLost: m.progress.GetBusLost(),
		})
	}
	return list
}

// millis and seconds convert a number of ticks to wall time.
func millis(ticks int) int64 { return (time.Duration(ticks) * reportEvery).Milliseconds() }

func seconds(ticks int) string {
	return fmt.Sprintf("%d s", time.Duration(ticks)*reportEvery/time.Second)
}

// some lists at most three names.
func some(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
