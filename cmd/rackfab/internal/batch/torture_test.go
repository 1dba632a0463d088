package batch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/services/torture"
)

// The error of a failed schedule says what is wrong, lists the faults, and ends with the command
// that repeats it. It says so if the command runs more faults than those listed. Other errors stay as
// they are.
func TestFailedScheduleNamesTheCommand(t *testing.T) {
	wrong := errors.New("digest 1, the lab has 2")
	drawn := torture.Draw(torture.Scenario(), 400, 7)
	all := len(drawn.Faults)
	few := drawn
	few.Faults = few.Faults[:2]
	for _, c := range []struct {
		schedule torture.Schedule
		folder   string
		f        tortureFlags
		want     string
	}{
		{drawn, "", tortureFlags{kind: inProcess, patience: torture.Patience}, fmt.Sprintf(`with %d faults:
%v
again: rackfab torture incast.yaml --seed 7 --schedules 1`, all, drawn)},
		{few, "", tortureFlags{kind: inProcess, patience: 2 * time.Minute}, fmt.Sprintf(`with only 2 of its %d faults:
%v
again, with all %d faults: rackfab torture incast.yaml --seed 7 --schedules 1 --patience 2m0s`, all, few, all)},
		{drawn, "/tmp/rack", tortureFlags{kind: ofProcesses, patience: time.Minute}, fmt.Sprintf(`with %d faults:
%v
log and journal: /tmp/rack
again: rackfab torture --kind processes incast.yaml --seed 7 --schedules 1 --patience 1m0s`, all, drawn)},
	} {
		failed := &torture.Failure{Seed: 7, Schedule: c.schedule, Faults: len(c.schedule.Faults), Drawn: all, Folder: c.folder, Err: wrong}
		err := withCommand(failed, []string{"incast.yaml"}, c.f)
		if diff := cmp.Diff("seed 7: digest 1, the lab has 2\n"+c.want, err.Error()); diff != "" || !errors.Is(err, wrong) {
			t.Error(diff)
		}
	}
	if got := withCommand(wrong, nil, tortureFlags{}); got.Error() != wrong.Error() {
		t.Errorf("got %q, want %q", got, wrong)
	}
}

// The summary has the least number of faults of a schedule.
func TestSummaryOfSchedules(t *testing.T) {
	sum := tally{began: map[torture.Kind]int{}}
	for _, n := range []int{12, 9, 15} {
		sum.add(&torture.Outcome{Began: map[torture.Kind]int{torture.Drop: n}})
	}
	var b strings.Builder
	if err := sum.write(&b, time.Second); err != nil || !strings.HasPrefix(b.String(), "3 schedules with equal digests in 1s, 36 faults, at least 9 in each (drop 36, ") {
		t.Errorf("%v: %s", err, b.String())
	}
}
