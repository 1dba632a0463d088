// Package report turns the folders of runs into tables, a page and plots. It reads and
// writes files; it does not run scenarios.
package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/rackfab/rackfab/disk"
)

// PageName is the file name of the page in a report's folder.
const PageName = "report.html"

// Write creates the folder dir and writes the page and the plots of the runs into it.
// The page shows several runs side by side. Write returns the page's path.
func Write(dir string, runs []*Folder) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	figures := Figures(runs)
	page := filepath.Join(dir, PageName)
	var group errgroup.Group
	for i := range figures {
		group.Go(func() error { return write(&figures[i], dir, figures[i].Name) })
	}
	for _, t := range trees(runs) {
		if t != nil {
			group.Go(func() error { return write(t, dir, t.Name) })
		}
	}
	group.Go(func() error {
		return disk.Replace(page, disk.Public, func(w io.Writer) error { return Page(w, runs, figures) })
	})
	return page, group.Wait()
}

// picture is a figure or a tree.
type picture interface {
	SVG(w io.Writer) error
	PNG(w io.Writer) error
}

// write writes a picture as NAME.svg and NAME.png.
func write(p picture, dir, name string) error {
	return errors.Join(
		disk.Replace(filepath.Join(dir, name+".svg"), disk.Public, p.SVG),
		disk.Replace(filepath.Join(dir, name+".png"), disk.Public, p.PNG))
}
