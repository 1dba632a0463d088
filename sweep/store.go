package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Store stores the results of cells, one file each.
type Store struct {
	Dir string
	// Version distinguishes builds whose results may differ.
	Version string
}

// key identifies a cell: the complete scenario with all defaults, the format of the
// results, and the build.
func (s *Store) key(scenario *topology.Scenario) (string, error) {
	text, err := scenariofile.Marshal(scenario)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, part := range [][]byte{text, []byte(measure.Schema), []byte(s.Version)} {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part) // a hash does not fail
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

func (s *Store) path(key string) string { return filepath.Join(s.Dir, key+".json") }

// get returns the result of a cell. It returns an error if there is no complete result.
func (s *Store) get(key string) (*measure.Run, error) {
	data, err := os.ReadFile(s.path(key))
	if err != nil {
		return nil, err
	}
	run := &measure.Run{}
	if err := json.Unmarshal(data, run); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(key), err)
	}
	return run, nil
}

// put stores the result of a cell.
func (s *Store) put(key string, run *measure.Run) error {
	data, err := json.Marshal(run)
	if err != nil {
		return err
	}
	return disk.Replace(s.path(key), disk.Public, disk.Text(append(data, '\n')))
}
