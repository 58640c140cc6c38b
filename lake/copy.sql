-- SPDX-License-Identifier: Apache-2.0
-- What a copy of a user's own runs (copy.c) has besides schema.sql.  Of another user's process, a copy lacks values that
-- the process shares with others in a lake's file (proc_kind, proc_argv).  So each row of a copy has its own values.
CREATE TABLE proc_flat AS SELECT * FROM proc_rows;
DROP VIEW proc;
CREATE VIEW proc AS SELECT * FROM proc_flat;
