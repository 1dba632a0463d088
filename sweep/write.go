package sweep

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report/chart"
)

// File is a file to be written, with its name in the output folder.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// JSONFile returns NAME.json with a value.
func JSONFile(name string, v any) File {
	return File{name + ".json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false) // link names contain ->: x->y
		e.SetIndent("", "  ")
		return e.Encode(v)
	}}
}

// CSVFile returns NAME.csv with the table.
func CSVFile(name string, t *Table) File {
	return File{name + ".csv", func(w io.Writer) error { return WriteCSV(w, t) }}
}

// TableFiles returns NAME.csv and NAME.parquet with the table.
func TableFiles(name string, t *Table) []File {
	return []File{CSVFile(name, t), {name + ".parquet", func(w io.Writer) error { return WriteParquet(w, t) }}}
}

// FigureFiles returns NAME.png and NAME.svg with the figure.
func FigureFiles(name string, f *chart.Figure) []File {
	return []File{{name + ".png", f.PNG}, {name + ".svg", f.SVG}}
}

// WriteCSV writes the table as RFC 4180 text with a header. Real numbers are written
// with enough digits to restore them exactly.
func WriteCSV(w io.Writer, t *Table) error {
	out := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = c.Name
	}
	_ = out.Write(record) // out keeps its first error
	for row, err := range t.Rows {
		if err != nil {
			return err
		}
		for i, v := range row {
			record[i] = spell(v)
		}
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
}

// spell returns a value as text, "" for a missing one.
func spell(v any) string {
	if v == nil {
		return ""
	}
	if x, ok := plain(v).(float64); ok {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// plain returns a value without its lower-bound mark.
func plain(v any) any {
	if b, ok := v.(measure.Bound); ok {
		return b.Value
	}
	return v
}

// WriteParquet writes the table as an Apache Parquet file, with the columns and names
// of WriteCSV. It keeps one row group in memory.
func WriteParquet(w io.Writer, t *Table) error {
	root := ordered{Group: parquet.Group{}}
	for _, c := range t.Columns {
		root.names = append(root.names, c.Name)
		root.Group[c.Name] = parquet.Optional(leaf(c.Kind))
	}
	const groupRows = 10_000
	out := parquet.NewWriter(w, parquet.NewSchema(t.Name, root), parquet.MaxRowsPerRowGroup(groupRows))
	row := make(parquet.Row, len(t.Columns))
	for values, err := range t.Rows {
		if err != nil {
			return err
		}
		for i, v := range values {
			if row[i] = parquet.NullValue().Level(0, 0, i); v != nil {
				row[i] = parquet.ValueOf(plain(v)).Level(0, 1, i)
			}
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}

func leaf(k Kind) parquet.Node {
	switch k {
	case Integer:
		return parquet.Int(64)
	case Real:
		return parquet.Leaf(parquet.DoubleType)
	default:
		return parquet.String()
	}
}

// ordered is a group that keeps its columns in the order of names instead of
// alphabetical order.
type ordered struct {
	parquet.Group
	names []string
}

// Fields lists the columns.
func (o ordered) Fields() []parquet.Field {
	fields := o.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(o.names, a.Name()) - slices.Index(o.names, b.Name())
	})
	return fields
}
