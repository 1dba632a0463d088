package main

import (
	"database/sql"
	"math"
)

// sqlStore keeps spans in SQLite, by whichever driver.
type sqlStore struct {
	db *sql.DB
}

const schema = `
PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;
CREATE TABLE IF NOT EXISTS traces(no INTEGER PRIMARY KEY, run INT, trace BLOB, flow INT, name INT, node INT, start INT, duration INT, UNIQUE(run, trace));
CREATE TABLE IF NOT EXISTS spans(no INT, span INT, parent INT, name INT, node INT, flow INT, start INT, duration INT, body BLOB, PRIMARY KEY(no, span)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS slow ON traces(run, duration) WHERE duration IS NOT NULL;
CREATE INDEX IF NOT EXISTS slowflow ON traces(run, flow, duration) WHERE duration IS NOT NULL;
CREATE INDEX IF NOT EXISTS late ON traces(run, start) WHERE duration IS NOT NULL;
`

func openSQL(driver, dsn string) (*sqlStore, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(schema); err != nil {
		return nil, err
	}
	return &sqlStore{db: db}, nil
}

func (s *sqlStore) write(batch []row) error {
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	find, _ := tx.Prepare("SELECT no FROM traces WHERE run=1 AND trace=?")
	add, _ := tx.Prepare("INSERT INTO traces(run, trace) VALUES(1,?)")
	root, _ := tx.Prepare("UPDATE traces SET flow=?, name=?, node=?, start=?, duration=? WHERE no=?")
	span, err := tx.Prepare("INSERT OR IGNORE INTO spans VALUES(?,?,?,?,?,?,?,?,?)")
	if err != nil {
		return err
	}
	for i := range batch {
		r := &batch[i]
		var no int64
		if err := find.QueryRow(r.trace[:]).Scan(&no); err == sql.ErrNoRows {
			res, err := add.Exec(r.trace[:])
			if err != nil {
				return err
			}
			no, _ = res.LastInsertId()
		} else if err != nil {
			return err
		}
		if _, err := span.Exec(no, int64(r.span), int64(r.parent), r.name, r.node, r.flow, r.start, r.duration, r.body); err != nil {
			return err
		}
		if r.parent == 0 {
			if _, err := root.Exec(r.flow, r.name, r.node, r.start, r.duration, no); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

func (s *sqlStore) scan(q string, args ...any) (n int, err error) {
	rows, err := s.db.Query(q, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var no, start, duration int64
		var id []byte
		if err := rows.Scan(&no, &id, &start, &duration); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

func (s *sqlStore) slowest(flow int) (int, error) {
	return s.scan("SELECT no, trace, start, duration FROM traces WHERE run=1 AND flow=? AND duration IS NOT NULL ORDER BY duration DESC LIMIT 20", flow)
}

func (s *sqlStore) latest() (int, error) {
	return s.scan("SELECT no, trace, start, duration FROM traces WHERE run=1 AND duration IS NOT NULL ORDER BY start DESC LIMIT 20")
}

func (s *sqlStore) atNode(node int, low, high int64) (int, error) {
	return s.scan("SELECT no, trace, start, duration FROM traces t WHERE run=1 AND duration BETWEEN ? AND ? AND EXISTS(SELECT 1 FROM spans s WHERE s.no=t.no AND s.node=?) ORDER BY duration DESC LIMIT 20", low, high, node)
}

func (s *sqlStore) get(id [16]byte) (int, error) {
	rows, err := s.db.Query("SELECT span, parent, name, node, flow, start, duration, body FROM spans WHERE no=(SELECT no FROM traces WHERE run=1 AND trace=?)", id[:])
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var a, b, c, d, e, f, g int64
		var body []byte
		if err := rows.Scan(&a, &b, &c, &d, &e, &f, &g, &body); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

func (s *sqlStore) percentiles() (int, error) {
	rows, err := s.db.Query("SELECT flow, duration FROM traces WHERE run=1 AND duration IS NOT NULL ORDER BY flow, duration")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	by := map[int64][]int64{}
	for rows.Next() {
		var flow, d int64
		if err := rows.Scan(&flow, &d); err != nil {
			return 0, err
		}
		by[flow] = append(by[flow], d)
	}
	for _, d := range by {
		_ = d[rank(len(d), 0.99)]
	}
	return len(by), rows.Err()
}

func (s *sqlStore) close() error { return s.db.Close() }

func rank(n int, p float64) int { return max(0, int(math.Ceil(p*float64(n)))-1) }
