package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// ParseShare parses a share such as "5%" or "0.05".
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) { // rejects NaN too
		return 0, fmt.Errorf("%q, want a share such as 5%% or 0.05", text)
	}
	return share, nil
}

// SpanFlag parses a flag with a duration or an instant. An empty text is 0.
func SpanFlag(flag, text string, to *int64) error {
	*to = 0
	if text == "" {
		return nil
	}
	t, err := unit.ParseTime(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	*to = int64(t)
	return nil
}

func WantFormat(have string, want ...string) error {
	for _, w := range want {
		if have == w {
			return nil
		}
	}
	return fmt.Errorf("--format %q: want %s", have, strings.Join(want, ", "))
}
