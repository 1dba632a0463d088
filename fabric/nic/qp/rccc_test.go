package qp

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// credited returns a flow of the given size under rccc, whose initial credit is 20 KB.
func credited(t *testing.T, size unit.Bytes, windowed bool) *Flow {
	t.Helper()
	r := sprayer(t, size, func(s *Settings) {
		scheme, err := cc.Find("rccc")
		if err != nil {
			t.Fatal(err)
		}
		s.CC.NSCC.Credit = windowed
		s.Scheme, s.Notification = scheme.Name, scheme.Notification
		s.CC = scheme.Complete(s.CC, nil, 25*unit.Microsecond)
		s.CC.Credit.Window = 20 * unit.Kilobyte
	})
	r.Device.backlog, r.offer = func(int) unit.Bytes { return r.backlog() }, func(int) {}
	return r
}

// sendOne sends the next packet.
func (r *Flow) sendOne() {
	var f frame.Frame
	r.Send(0, &f, &fabric.Out{})
}

// answerUET passes a UET packet of the receiver to the requester.
func (r *Flow) answerUET(u frame.UET) {
	u.Header.Src, u.Header.Dst = frame.HostIP(1), frame.HostIP(0)
	var f frame.Frame
	u.Build(&f)
	r.ReceiveUET(1, &f, &fabric.Out{})
}

// RCCC-4: the first ACK, NACK or grant voids the rest of the initial credit, and only the first.
func TestFirstAnswerEndsSpeculation(t *testing.T) {
	for name, c := range map[string]struct {
		first frame.UET
		held  unit.Bytes
	}{
		"ACK":   {frame.UET{Type: frame.UETAck, State: frame.StateCredit}, 0},
		"NACK":  {frame.UET{Type: frame.UETNack, PSN: 1, Code: frame.UETTrimmed}, 0},
		"grant": {frame.UET{Type: frame.UETControl, Control: frame.UETCredit, Credit: 9}, 9 * credit.Quantum},
	} {
		r := credited(t, 100_000, false)
		r.sendOne()
		r.sendOne()
		if before := r.credit.Held(); before <= 15_000 || !r.Pending() {
			t.Fatalf("%s: %v of credit after two packets", name, before)
		}
		r.answerUET(c.first)
		if got := r.credit.Held(); got != c.held || r.Pending() != (c.held > 0) {
			t.Errorf("%s: %v of credit is left, want %v; may send %v", name, got, c.held, r.Pending())
		}
		r.answerUET(frame.UET{Type: frame.UETControl, Control: frame.UETCredit, Credit: 20})
		if r.answerUET(frame.UET{Type: frame.UETAck, State: frame.StateCredit, Credit: 20}); r.credit.Held() != 20*credit.Quantum {
			t.Errorf("%s: %v of credit, want the granted 20 quanta", name, r.credit.Held())
		}
	}
}

// RCCC-2: the backlog for which a flow asks has the packets to send again too.
func TestBacklogCountsPacketsToSendAgain(t *testing.T) {
	const each = 1000 + uetHeaders
	r := credited(t, 10_000, false)
	for sent := range unit.Bytes(10) {
		if got := r.backlog(); got != (10-sent)*each {
			t.Errorf("after %d packets: backlog %v, want %v", sent, got, (10-sent)*each)
		}
		r.sendOne()
	}
	for _, psn := range []uint32{3, 5} {
		r.answerUET(frame.UET{Type: frame.UETNack, PSN: psn, Code: frame.UETTrimmed})
	}
	if got := r.backlog(); got != 2*each {
		t.Errorf("two packets trimmed: backlog %v, want %v", got, 2*each)
	}
	if r.sendOne(); r.backlog() != each {
		t.Errorf("one sent again: backlog %v, want %v", r.backlog(), each)
	}
}

// RCCC-3: with the window of NSCC a packet needs room in it and credit; without, credit alone.
func TestWindowAndCredit(t *testing.T) {
	const byCredit = 20_000/(1000+uetHeaders) + 1
	sendAll := func(r *Flow) (sent int) {
		for ; r.Pending(); sent++ {
			r.sendOne()
		}
		return sent
	}
	if alone := sendAll(credited(t, 1_000_000, false)); alone != byCredit {
		t.Errorf("%d packets by 20 KB of credit, want %d", alone, byCredit)
	}
	r := credited(t, 1_000_000, true)
	wide := r.live.cc
	r.SetReaction(&recorder{Algorithm: wide, window: 3000})
	if sent := sendAll(r); sent != 3 || r.credit.Held() <= 0 {
		t.Errorf("%d packets in a window of 3, %v of credit left", sent, r.credit.Held())
	}
	r.SetReaction(&recorder{Algorithm: wide, window: cc.NoWindow})
	if sent := sendAll(r); sent != byCredit-3 || r.credit.Held() > 0 {
		t.Errorf("%d more packets without a window, want %d; %v of credit left", sent, byCredit-3, r.credit.Held())
	}
}
