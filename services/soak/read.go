package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Metrics of the Go collector for Prometheus.
const (
	heapGoal    = "go_memstats_next_gc_bytes"
	gcPercent   = "go_gc_gogc_percent"
	resident    = "process_resident_memory_bytes"
	goroutines  = "go_goroutines"
	descriptors = "process_open_fds"
)

// readLimit bounds one scrape. A machine under load may take seconds.
const readLimit = 10 * time.Second

// Read scrapes the metrics at an address, "host:port". at is the present time since the start.
func Read(ctx context.Context, address string, at time.Duration) (Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return Sample{}, err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return Sample{}, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if answer.StatusCode != http.StatusOK {
		return Sample{}, fmt.Errorf("metrics at %s: %s", address, answer.Status)
	}
	return parse(answer.Body, at)
}

// parse reads the text format of Prometheus.
func parse(text io.Reader, at time.Duration) (Sample, error) {
	values := map[string]float64{heapGoal: -1, gcPercent: -1, resident: -1, goroutines: -1, descriptors: -1}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if _, wanted := values[name]; !wanted {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Sample{}, fmt.Errorf("metric %s: %w", name, err)
		}
		values[name] = v
	}
	for _, name := range []string{heapGoal, gcPercent, resident, goroutines, descriptors} {
		if values[name] < 0 {
			return Sample{}, fmt.Errorf("the metric %s is missing", name)
		}
	}
	// The goal of the next collection is what the latest one has left, and the percentage on top.
	live := values[heapGoal] / (1 + values[gcPercent]/100)
	return Sample{At: at, Live: live, Resident: values[resident], Goroutines: values[goroutines], Descriptors: values[descriptors]}, lines.Err()
}
