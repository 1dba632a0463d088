package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/study"
)

// Experiments on converting ECN to RTT.
const (
	rttxExample = "rttx-example"
	rttxCompare = "rttx-compare"
)

// exampleResult is the content of rttx-example.json.
type exampleResult struct {
	Bus     string       `json:"bus"`
	Digests []string     `json:"digests"` // with conversion and without
	Steps   []study.Step `json:"steps"`
}

// runRTTXExample prints the document's worked example step by step, and writes the
// steps and the scenario.
func runRTTXExample(c *cobra.Command, b *bench, f runFlags) error {
	e, err := study.RTTXExample(b.run, studySettings(c, f))
	if err != nil {
		return err
	}
	result := exampleResult{Bus: f.bus, Digests: digestsOf(e.Runs), Steps: e.Steps}
	if err := writeExample(f.out, e.Scenario, &result); err != nil {
		return err
	}
	if f.json {
		return writeJSON(c.OutOrStdout(), result)
	}
	t := table.New(2, "at", "what", "the document", "here")
	for _, s := range e.Steps {
		at := "never"
		if s.At != unit.Never {
			at = s.At.String()
		}
		t.Row(at, s.What, s.Document, s.Here)
	}
	if err := t.Write(c.OutOrStdout()); err != nil {
		return err
	}
	if err := b.printDigest(c.OutOrStdout(), e.Runs); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "steps and scenario: %s\n", f.out)
	return err
}

func digestsOf(runs []*measure.Run) (list []string) {
	for _, run := range runs {
		list = append(list, run.Digest)
	}
	return list
}

// writeExample writes the steps and the scenario.
func writeExample(dir string, s *topology.Scenario, result *exampleResult) error {
	scenario, err := topology.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(
		createFile(filepath.Join(dir, "scenario.yaml"), func(w io.Writer) error { _, err := w.Write(scenario); return err }),
		createFile(filepath.Join(dir, rttxExample+".json"), func(w io.Writer) error { return writeJSON(w, result) }),
	)
}

// answerRow is one row of rttx-compare. Key suffixes are units. Reaction is nil if the
// sender did not react.
type answerRow struct {
	Path     string   `json:"path"`
	Sender   string   `json:"sender"`
	Flow     string   `json:"flow"`
	BaseRTT  float64  `json:"base_rtt_us"`
	Reaction *float64 `json:"reaction_rtts"`
	CNPCuts  int      `json:"cnp_cuts"`
	RTTCuts  int      `json:"rtt_cuts"`
	// The next three fields are set for senders that react to both signals.
	Against *int    `json:"cnp_cuts_against_rtt,omitempty"`
	Alone   *int    `json:"rtt_cuts_without_cnp,omitempty"`
	Twice   *int    `json:"cut_twice,omitempty"`
	Tree    float64 `json:"tree_ms"`
	Burst   float64 `json:"flow_in_burst_gbps"`
	P50     float64 `json:"burst_p50_ms"`
	P99     float64 `json:"burst_p99_ms"`
	Pauses  int64   `json:"pause_frames"`
	Bus     string  `json:"bus"`
	Digest  string  `json:"digest"`
	Without string  `json:"digest_without_burst"`
}

// runRTTXCompare compares senders and writes the figures.
func runRTTXCompare(c *cobra.Command, b *bench, f runFlags) error {
	if c.Flags().Changed("scheme") {
		return errors.New("--scheme: rttx-compare has senders of its own; run rttx-16to2 or rttx-wan under a scheme")
	}
	answers, err := study.RTTXCompare(b.run, studySettings(c, f))
	if err != nil {
		return err
	}
	rows := answerRows(answers, f.bus)
	if err := writeRTTX(f.out, rows, study.RTTXFigures(answers)); err != nil {
		return err
	}
	if f.json {
		return writeJSON(c.OutOrStdout(), rows)
	}
	printAnswers(c.OutOrStdout(), rows)
	var runs []*measure.Run
	for i := range answers {
		runs = append(runs, answers[i].Run, answers[i].Without)
	}
	if err := b.printDigest(c.OutOrStdout(), runs); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "table and plots: %s\n", f.out)
	return err
}

// studySettings returns the settings of a study that the flags change.
func studySettings(c *cobra.Command, f runFlags) (set []topology.Setting) {
	if f.duration != "" {
		set = append(set, topology.Setting{Key: "duration", Value: f.duration})
	}
	if c.Flags().Changed("seed") {
		set = append(set, topology.Setting{Key: "seed", Value: strconv.FormatUint(f.seed, 10)})
	}
	return set
}

func answerRows(answers []study.Answer, bus string) (rows []answerRow) {
	for i := range answers {
		a := &answers[i]
		r := answerRow{
			Path: a.Path, Sender: a.Sender.Name, Flow: a.Flow, BaseRTT: in(a.BaseRTT, unit.Microsecond),
			CNPCuts: a.Conflicts.CNPCuts, RTTCuts: a.Conflicts.RTTCuts,
			Bus: bus, Digest: a.Run.Digest, Without: a.Without.Digest,
			Tree: in(a.Run.Tree, unit.Millisecond), P50: in(a.Run.Burst.P50, unit.Millisecond), P99: in(a.Run.Burst.P99, unit.Millisecond),
		}
		if a.Sender.Both {
			r.Against, r.Alone, r.Twice = &a.Conflicts.Against, &a.Conflicts.Alone, &a.Conflicts.Twice
		}
		if reaction, ok := a.Reaction(); ok {
			r.Reaction = &reaction
		}
		for _, flow := range a.Run.Flows {
			if flow.Name == a.Flow {
				r.Burst = float64(flow.BurstGoodput) / float64(unit.GigabitPerSec)
			}
		}
		for _, p := range a.Run.Pauses {
			r.Pauses += p.XOFF
		}
		rows = append(rows, r)
	}
	return rows
}

func in(t, one unit.Time) float64 { return float64(t) / float64(one) }

func printAnswers(w io.Writer, rows []answerRow) {
	t := table.New(1, "", "reaction", "by CNP", "by RTT", "CNP cut,", "RTT cut,", "cut", "tree", "flow in burst", "p50", "p99", "PAUSE")
	path := ""
	for _, r := range rows {
		if r.Path != path {
			path = r.Path
			t.Row(fmt.Sprintf("%s (%s, base RTT %.1f us)", path, r.Flow, r.BaseRTT))
		}
		reaction := "none"
		if r.Reaction != nil {
			reaction = fmt.Sprintf("%.3f", *r.Reaction)
		}
		t.Row("  "+r.Sender, reaction, r.CNPCuts, r.RTTCuts, count(r.Against), count(r.Alone), count(r.Twice),
			fmt.Sprintf("%.2f", r.Tree), fmt.Sprintf("%.2f", r.Burst), fmt.Sprintf("%.2f", r.P50), fmt.Sprintf("%.2f", r.P99), r.Pauses)
	}
	_ = t.Right(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11).Write(w)
}

// count formats a number that may not apply.
func count(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// writeRTTX writes the rows and the figures.
func writeRTTX(dir string, rows []answerRow, figures []study.Figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := createFile(filepath.Join(dir, rttxCompare+".json"), func(w io.Writer) error { return writeJSON(w, rows) })
	for i := range figures {
		f := &figures[i]
		name := filepath.Join(dir, f.Name)
		err = errors.Join(err, createFile(name+".png", f.PNG), createFile(name+".svg", f.SVG))
	}
	return err
}
