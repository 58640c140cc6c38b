-- SPDX-License-Identifier: Apache-2.0
-- Makes proc show the rows of proc_earlier too: the table proc of a file that version 3 began, or a copy's rows.

-- SQLite gives a new row of proc_row the id after the largest: proc_facet tells rows of both tables apart by their ids.
INSERT INTO proc_row (id, run, kind) SELECT max(id), 0, 0 FROM proc_earlier;
DROP VIEW proc;
CREATE VIEW proc AS SELECT * FROM proc_rows UNION ALL SELECT * FROM proc_earlier;
