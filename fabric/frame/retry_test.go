package frame

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The bytes of an INIT_ECHO, written by hand from docs/wire.md.
func TestBuildRetry(t *testing.T) {
	want := unhex(t, "0180c200000e"+"020100000001"+"88b5"+"04"+"00"+"000fffff"+"00000012"+
		"000000000000000000000000000000000000000000000000000000000000000000000000")
	f := built(write(WriteOnly))
	(&Retry{SwitchMAC(1), RetryInitEcho, SequenceMask, 0x12}).Build(f)
	if diff := cmp.Diff(want, f.Header()); diff != "" {
		t.Error(diff)
	}
	if f.Payload != 0 || f.Len() != 64 || f.Class() != ClassRetry {
		t.Errorf("Payload %d, Len %d, Class %v", f.Payload, f.Len(), f.Class())
	}
}

func TestRetryBuildParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Retry{
			drawAddr(t, "source"), rapid.SampledFrom([]RetryKind{RetryACK, RetryNACK, RetryInit, RetryInitEcho}).Draw(t, "kind"),
			rapid.Uint32Range(0, SequenceMask).Draw(t, "number"), 0,
		}
		if r.Kind == RetryInitEcho {
			r.Good = rapid.Uint32Range(0, SequenceMask).Draw(t, "good")
		}
		var f Frame
		r.Build(&f)
		var q Retry
		if err := q.Parse(&f); err != nil || r != q {
			t.Fatalf("%+v, %v", q, err)
		}
	})
}

func TestRetryParseRejectsInvalidFrames(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(f *Frame)
		want  error
	}{
		"EtherType":    {func(f *Frame) { f.head[ethType] = 0x22 }, errNotRetry},
		"destination":  {func(f *Frame) { f.head[5] = 1 }, errNotRetry},
		"short":        {func(f *Frame) { f.SetHeader(f.Header()[:59]) }, errNotRetry},
		"payload":      {func(f *Frame) { f.Payload = 1 }, errNotRetry},
		"no kind":      {func(f *Frame) { f.head[retryKind] = 0 }, errNotRetry},
		"unknown kind": {func(f *Frame) { f.head[retryKind] = 5 }, errNotRetry},
		"reserved":     {func(f *Frame) { f.head[retryKind+1] = 1 }, errRetryPadding},
		"number":       {func(f *Frame) { f.head[retryNumber+1] = 0x10 }, errRetryPadding},
		"good":         {func(f *Frame) { f.head[retryGood+1] = 0x10 }, errRetryPadding},
		"good of ACK":  {func(f *Frame) { f.head[retryKind], f.head[retryGood+3] = byte(RetryACK), 1 }, errRetryPadding},
		"padding":      {func(f *Frame) { f.head[59] = 1 }, errRetryPadding},
	} {
		t.Run(name, func(t *testing.T) {
			var f Frame
			(&Retry{Kind: RetryInitEcho, Number: 1}).Build(&f)
			c.spoil(&f)
			var r Retry
			if err := r.Parse(&f); !errors.Is(err, c.want) || r != (Retry{}) {
				t.Errorf("Parse = %v, want %v; %+v", err, c.want, r)
			}
		})
	}
}

func TestRetryKindNames(t *testing.T) {
	for kind, want := range map[RetryKind]string{RetryACK: "ack", RetryNACK: "nack", RetryInit: "init", RetryInitEcho: "init-echo", 0: "none", 9: "none"} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d is %q, want %q", kind, got, want)
		}
	}
}
