package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
)

// fault is an error of the API.
type fault struct {
	status     int
	kind, text string
}

func (f *fault) Error() string { return f.text }

// badData returns the error of an invalid parameter.
func badData(format string, args ...any) error {
	return &fault{http.StatusBadRequest, "bad_data", fmt.Sprintf(format, args...)}
}

// failed converts the error of an evaluation.
func failed(err error) error {
	var late promql.ErrQueryTimeout
	var canceled promql.ErrQueryCanceled
	switch f := (*fault)(nil); {
	case errors.As(err, &f):
		return f
	case errors.As(err, &late), errors.Is(err, context.DeadlineExceeded):
		return &fault{http.StatusServiceUnavailable, "timeout", err.Error()}
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return &fault{http.StatusServiceUnavailable, "canceled", err.Error()}
	}
	return &fault{http.StatusUnprocessableEntity, "execution", err.Error()}
}

// firstOf returns the first error.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// maxForm is the maximum size of the form in a request, in bytes.
const maxForm = 1 << 20

// answer serves a function of the request's form in the envelope of the API.
func answer(do func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		var data any
		err := r.ParseForm()
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			err = &fault{http.StatusRequestEntityTooLarge, "bad_data", fmt.Sprintf("form: more than %d bytes", maxForm)}
		case err != nil:
			err = badData("form: %v", err)
		default:
			data, err = do(r)
		}
		status, envelope := http.StatusOK, map[string]any{"status": "success", "data": data}
		if err != nil {
			var f *fault
			errors.As(failed(err), &f)
			status, envelope = f.status, map[string]any{"status": "error", "errorType": f.kind, "error": f.text}
		}
		text, err := encoded(envelope)
		if err != nil {
			status, text = http.StatusInternalServerError, json.RawMessage(`{"status":"error","errorType":"internal","error":"the result has no JSON"}`)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(text) // the client may have disconnected
	})
}

func encoded(v any) (json.RawMessage, error) { return json.Marshal(v) }

// parseTime parses an instant: seconds since 1970, or RFC 3339.
func parseTime(name, text string) (time.Time, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(s) < math.MaxInt64/1e3 {
		whole, part := math.Modf(s)
		return time.Unix(int64(whole), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, badData("%s: %q: want seconds since 1970, or 2020-01-01T00:00:00Z", name, text)
	}
	return t, nil
}

// parseStep parses a step: seconds, or a duration such as 50s.
func parseStep(text string) (time.Duration, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil && s*1e9 < math.MaxInt64 && s >= 1e-3 {
		return time.Duration(s * 1e9), nil
	}
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, badData("step: %q: want seconds above 0, or a duration such as 50s", text)
	}
	return time.Duration(d), nil
}
