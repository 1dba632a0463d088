package page

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/services/internal/cabling"
)

// maxRuns is the maximum number of folders listed: the latest by name.
const maxRuns = 200

// openRuns opens the folder of finished runs. It is opened for each request, because the
// first run may create it while the page is served.
func (p *Page) openRuns() (*os.Root, error) {
	if p.options.Runs == "" {
		return nil, fs.ErrNotExist
	}
	return os.OpenRoot(p.options.Runs)
}

// listRuns lists the folders of finished runs, the latest first.
func (p *Page) listRuns(w http.ResponseWriter, _ *http.Request) {
	list := []finished{}
	root, err := p.openRuns()
	if err != nil {
		if os.IsNotExist(err) {
			send(w, http.StatusOK, list)
		} else {
			sendError(w, http.StatusInternalServerError, err.Error())
		}
		return
	}
	defer func() { _ = root.Close() }() // it was only read
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		sendError(w, http.StatusInternalServerError, err.Error())
		return
	}
	for _, e := range slices.Backward(entries) {
		if _, err := root.Stat(e.Name() + "/results.json"); e.IsDir() && err == nil && len(list) < maxRuns {
			list = append(list, finished{e.Name(), schemesOf(root, e.Name())})
		}
	}
	send(w, http.StatusOK, list)
}

// finished is the JSON of a folder of a finished run.
type finished struct {
	Name    string   `json:"name"`
	Schemes []string `json:"schemes"` // of its runs, in order; empty if the manifest is missing
}

// schemesOf returns the schemes that a folder's manifest names.
func schemesOf(root *os.Root, folder string) []string {
	manifest := struct{ Schemes []string }{Schemes: []string{}}
	if data, err := root.ReadFile(folder + "/manifest.json"); err == nil {
		_ = json.Unmarshal(data, &manifest) // a damaged manifest names no schemes
	}
	return manifest.Schemes
}

// runFile sends a file of a run's folder, or its topology.
func (p *Page) runFile(w http.ResponseWriter, r *http.Request) {
	run, file := r.PathValue("run"), r.PathValue("file")
	if strings.ContainsAny(run, `/\`) || !slices.Contains([]string{"results.json", "series.json", "topology"}, file) {
		sendError(w, http.StatusNotFound, "a run has results.json, series.json and topology")
		return
	}
	root, err := p.openRuns()
	if err != nil {
		sendError(w, http.StatusNotFound, err.Error())
		return
	}
	defer func() { _ = root.Close() }() // it was only read
	name := strings.Replace(file, "topology", "scenario.yaml", 1)
	data, err := root.ReadFile(run + "/" + name)
	switch {
	case err != nil:
		sendError(w, http.StatusNotFound, err.Error())
	case file == "topology":
		sendTopology(w, data)
	default:
		send(w, http.StatusOK, data)
	}
}

// builtin sends the topology of a built-in scenario.
func builtin(w http.ResponseWriter, r *http.Request) {
	data, ok := scenariofile.Builtin(r.PathValue("name"))
	if !ok {
		sendError(w, http.StatusNotFound, "no built-in scenario "+r.PathValue("name"))
		return
	}
	sendTopology(w, data)
}

// sendTopology sends the topology of a scenario.
func sendTopology(w http.ResponseWriter, data []byte) {
	s, err := scenariofile.Parse("scenario", data)
	if err != nil {
		sendError(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	out, err := protojson.Marshal(cabling.Describe(s, 0))
	if err != nil {
		sendError(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, http.StatusOK, out)
}
