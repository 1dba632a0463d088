package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A wording is a pattern of prose to avoid, and the better wording.
type wording struct {
	pattern *regexp.Regexp
	better  string
}

// avoid returns a wording. A space in the pattern also matches a line break.
func avoid(pattern, better string) wording {
	return wording{regexp.MustCompile(strings.ReplaceAll(pattern, " ", `\s+`)), better}
}

// wordings lists the wordings to avoid in comments, strings and Markdown. They are
// literal translations, metaphors, or terms that the field does not use.
var wordings = []wording{
	avoid(`\b(is|are|was|were|be|being|been) told\b`, `name the actor: "X receives", "X reports", "the error says"`),
	avoid(`\b[Tt]ells? (whether|if|of|what|nobody|somebody|how)\b`, `"reports whether", "reports", "describes"`),
	avoid(`\b(whose|their) way is\b|\bwhat bec(omes|ame) of\b`, `name the event: "where messages were delayed or dropped"`),
	avoid(`\b(what|that|which|who|as) (is|are) none\b`, `"invalid", "missing", or name the condition`),
	avoid(`\bis one of which\b|\bof which (nothing|nobody|none|no)\b`, `start a new sentence`),
	avoid(`\bthat which\b`, `use a noun`),
	avoid(`(^|[.;] )(Who|Whom|Whoever|Whose) [a-z][^?]*$`, `use a noun as the subject: "a caller", "clients"`),
	avoid(`\bstands? for good\b|\bfor good\b`, `"permanently", "failed"`),
	avoid(`\b[Bb]e the (bus|broker|collector|controller|page)\b`, `"run the collector"`),
	avoid(`\b[Tt]akes in (more|less|all|every|data|frames|bytes|what|the)\b|\bsends and takes in\b`, `"receives", "TX rate and RX rate", "includes"`),
	avoid(`%[qsv] is no\b`, `"invalid name %q: must match ..."`),
	avoid(`\b(un|re)told\b`, `"not exported", "reported again"`),
	avoid(`\b(links?|ports?|senders?|flows?) (is |are )?held\b|\b[Hh]eld by (a )?PAUSE\b|\bPAUSE holds\b`, `"paused"`),
	avoid(`\b(nodes?|racks?|process(es)?|spans?|notes?|collectors?) tells?\b`, `"export", "report", "describe"`),
	avoid(`\bstands? (in|on|at|behind|between|beside|above|below)\b`, `"is", "lies"`),
	avoid(`\b[Ww]hat (comes|goes|waits|leads|lies|stands|leaves|came|went|wait|come) `, `use a noun: "queued frames", "arrivals"`),
	avoid(`\bpauses in a circle\b`, `"PFC deadlock (cyclic pause)"`),
	avoid(`\b[Rr]egulated rate\b`, `"CC rate limit"`),
	avoid(`\b(machine|each|every|new|this|other) rooms?\b|\brooms\b`, `"package"`),
	avoid(`\b(held|holds?) (\w+ )?against\b`, `"compared with", "checked against"`),
	avoid(`\bspared? the\b|\bspares every\b`, `"need not", "is exempt from"`),
}

// docWordings lists wordings to avoid at the start of a Go doc comment.
var docWordings = []wording{
	avoid(`^\w+ gives\b`, `"X returns"`),
	avoid(`^\w+ tells\b`, `"X reports"`),
}

// prose is a piece of text and its position.
type prose struct {
	line int
	text string
	doc  bool // whether it is a Go doc comment
}

// faults lists the wordings to avoid in a text, each with its file and line.
func faults(file string, p prose) (found []string) {
	check := wordings
	if p.doc {
		check = append(check[:len(check):len(check)], docWordings...)
	}
	for _, w := range check {
		if at := w.pattern.FindStringIndex(p.text); at != nil {
			line := p.line + strings.Count(p.text[:at[0]], "\n")
			found = append(found, fmt.Sprintf("%s:%d: %q: better %s", file, line, strings.Join(strings.Fields(p.text[at[0]:min(at[1], at[0]+60)]), " "), w.better))
		}
	}
	return found
}

// goProse returns the comments and string literals of a Go file.
func goProse(name string, src []byte) (all []prose, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	docs := map[*ast.CommentGroup]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			docs[n.Doc] = true
		case *ast.GenDecl:
			docs[n.Doc] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				all = append(all, prose{line: fset.Position(n.Pos()).Line, text: text})
			}
		}
		return true
	})
	for _, c := range file.Comments {
		all = append(all, prose{fset.Position(c.Pos()).Line, c.Text(), docs[c]})
	}
	return all, nil
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	jsComment  = regexp.MustCompile(`^\s*// ?`)
)

// markdownProse returns the paragraphs of a Markdown file, without code.
func markdownProse(src []byte) (all []prose) {
	fenced := false
	paragraph := prose{line: 1}
	lines := strings.Split(string(src), "\n")
	for i, line := range append(lines, "") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			line = ""
		}
		if fenced || strings.HasPrefix(line, "    ") {
			line = ""
		}
		if strings.TrimSpace(line) == "" {
			all = append(all, paragraph)
			paragraph = prose{line: i + 2}
			continue
		}
		paragraph.text += inlineCode.ReplaceAllString(line, "CODE") + "\n"
	}
	return all
}

// pageProse returns the lines of a file of the web page.
func pageProse(src []byte) (all []prose) {
	for i, line := range strings.Split(string(src), "\n") {
		all = append(all, prose{line: i + 1, text: jsComment.ReplaceAllString(line, "")})
	}
	return all
}

// proseOf returns the prose of a file, or nothing if the file is not checked. The texts
// of requirements are quoted from their sources, and generated files have no prose of
// their own.
func proseOf(name string, src []byte) ([]prose, error) {
	switch {
	case name == "docs/requirements.md" || strings.HasPrefix(name, "docs/english_test.go") || strings.HasSuffix(name, ".pb.go"):
		return nil, nil
	case path.Ext(name) == ".go":
		return goProse(name, src)
	case path.Ext(name) == ".md":
		return markdownProse(src), nil
	case path.Ext(name) == ".js" || path.Ext(name) == ".html":
		return pageProse(src), nil
	}
	return nil, nil
}

// The comments, strings and documents of the repository are in plain English
// (CONTRIBUTING.md, Style).
func TestEnglish(t *testing.T) {
	tree := os.DirFS("..")
	checked := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		all, err := proseOf(name, src)
		for _, p := range all {
			checked++
			for _, f := range faults(name, p) {
				t.Error(f)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 1000 {
		t.Errorf("checked only %d texts of the repository", checked)
	}
}

// Each wording is found where it is planted, with its line, and ordinary sentences are
// not reported.
func TestEnglishFindsPlantedWordings(t *testing.T) {
	const header = "package p\n\n"
	for _, tt := range []struct{ name, text, want string }{
		{"p.go", header + "// F gives a number.\nfunc F() {}\n", `p.go:3: "F gives"`},
		{"p.go", header + "// f tells whether.\nfunc f() {}\n", `p.go:3: "tells whether"`},
		{"p.go", header + "// one\n// two, which\n// is told\n", `p.go:5: "is told"`},
		{"p.go", header + "// It returns\n// that which is left.\n", `p.go:4: "that which"`},
		{"p.go", header + "var s = \"what became of it\"\n", `p.go:3: "what became of"`},
		{"p.go", header + "var s = `\n%q is no name`\n", `p.go:4: "%q is no"`},
		{"p.go", header + "// Who comes late waits.\n", `p.go:3: "Who comes late waits."`},
		{"p.go", header + "// x is retold.\n", `p.go:3: "retold"`},
		{"a.md", "# T\n\nA link is held by PAUSE.\n", `a.md:3: "link is held"`},
		{"a.md", "One.\n\nThe rack stands\nfor good.\n", `a.md:3: "stands for good"`},
		{"a.md", "A new room needs a row.\n", `a.md:1: "new room"`},
		{"a.md", "It is one of which no other knows.\n", `a.md:1: "is one of which"`},
		{"a.js", "x();\n// It says what is none.\n", `a.js:2: "what is none"`},
		{"a.html", "<p>sends and takes in</p>\n", `a.html:1: "sends and takes in"`},
		{"p.go", header + "// Be the collector.\n", `p.go:3: "Be the collector"`},
		{"p.go", header + "// F returns a number; there is none before the first call.\nfunc F() {}\n", ""},
		{"p.go", header + "// Who sends it? There is no room for a frame.\n", ""},
		{"p.go", header + "var told, gives = 1, 2 // identifiers are not prose\n", ""},
		{"a.md", "`is told` is code.\n\n    so is told\n\n```\nis told\n```\n", ""},
		{"docs/requirements.md", "| is told |\n", ""},
	} {
		all, err := proseOf(tt.name, []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, p := range all {
			found = append(found, faults(tt.name, p)...)
		}
		if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) == 0 || !strings.HasPrefix(found[0], tt.want+": better ")) {
			t.Errorf("%q: found %q, want %s", tt.text, found, tt.want)
		}
	}
}
