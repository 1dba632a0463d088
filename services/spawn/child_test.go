package spawn

import (
	"bufio"
	"bytes"
	"reflect"
	"testing"

	"github.com/rackfab/rackfab/bus"
)

// A child reads the secrets that its parent has written.
func TestSecretsAreHandedOver(t *testing.T) {
	key, err := bus.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Secrets{
		{},
		{Access: bus.Access{Key: key}},
		{Access: bus.Access{Login: bus.Login{User: "root", Password: "hunter2"}}},
		{Users: []bus.User{{Public: "U1", Publish: []string{"a"}, Subscribe: []string{"b"}}}},
	} {
		var pipe bytes.Buffer
		if err := want.write(&pipe); err != nil {
			t.Fatal(err)
		}
		if got, err := readSecrets(bufio.NewReader(&pipe)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
