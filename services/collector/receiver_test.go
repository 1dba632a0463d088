package collector

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestReasonsAreListedOnce(t *testing.T) {
	var r reasons
	for i := range 20 {
		r.add(fmt.Sprint(i / 2))
	}
	if have := strings.Count(r.String(), ";") + 1; have != maxReasons || !bytes.HasPrefix([]byte(r.String()), []byte("0; 1; 2")) {
		t.Error(r.String())
	}
}
