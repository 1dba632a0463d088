package prometheus

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A form of the largest size is answered, and one of a byte more is 413.
func TestSizeOfFormIsLimited(t *testing.T) {
	h := serve(t)
	for over, want := range []int{http.StatusOK, http.StatusRequestEntityTooLarge} {
		form := "query=1&x="
		form += strings.Repeat("x", maxForm-len(form)+over)
		q := httptest.NewRequest(http.MethodPost, Path+"query", strings.NewReader(form))
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code != want || over > 0 && !strings.Contains(w.Body.String(), fmt.Sprintf("form: more than %d bytes", maxForm)) {
			t.Errorf("%d bytes: %d %s, want %d", len(form), w.Code, w.Body, want)
		}
	}
}
