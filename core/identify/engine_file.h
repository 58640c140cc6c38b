/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/engine_file.h - what skep reads from an engine's own control files: the first lines of a file, named
 * values of a JSON file, or what Snakemake's log says about a job (core/identify/engine_log.h).  The file is at a path,
 * or is the one of a folder that has a certain text at a certain place.
 *
 * A worker process of core/identify/reader.h reads the files, as the user whose task they describe, so a user cannot
 * make skep read what that user cannot.  It follows no symbolic link and reads regular files only.
 */
#ifndef SKEP_CORE_ENGINE_FILE_H
#define SKEP_CORE_ENGINE_FILE_H

#include <jansson.h>
#include <skep/record.h>

#define ENGINE_FILE_MOST 65536u    /* bytes; a larger JSON file is not read, of logs the end */
#define ENGINE_FILE_HEAD 8192u     /* bytes of the first lines */
#define ENGINE_FILE_ENTRIES 65536u /* entries of a folder that one request looks at */
#define ENGINE_FILE_READ 1024u     /* files of a folder that one request reads: the newest */
#define ENGINE_FILE_LOGS 4u        /* logs of a folder that one request reads: the newest */
#define ENGINE_FILE_VALUES 8u      /* values of one file */
#define ENGINE_FILE_WANTED 16u     /* texts that one request looks for in a folder */
#define ENGINE_FILE_VALUE 256u     /* bytes of a value, with the 0 behind it; the rest is cut off */
#define ENGINE_FILE_REQUEST 65536u /* bytes of a packed request */
#define ENGINE_FILE_ANSWER (ENGINE_FILE_WANTED * ENGINE_FILE_VALUES * ENGINE_FILE_VALUE)

/* A text to find in the files of a folder.  Blanks at both ends do not count. */
struct engine_file_wanted {
	struct skep_str text;
	uint64_t since_ns; /* realtime; only files that changed later */
	bool cut;          /* the text is only the begin */
};

struct engine_file {
	uint32_t uid, gid;  /* to read as */
	uint32_t pid;       /* a process of this user, for its further groups and its standard error; 0: none */
	const char *path;   /* absolute; NULL: only the log, or standard error */
	bool standard_error; /* the file that is the standard error of pid: its last line with each wanted text */
	const char *where;  /* JSON pointer (RFC 6901) of the text to find; NULL: path is the file itself */
	const char *log;    /* absolute: folder of Snakemake's logs; a job there has the text as command; NULL: none */
	/* JSON pointers of the path, and keys of the log, which begin with no "/"; NULL-terminated; none: the first lines */
	const char *values[ENGINE_FILE_VALUES + 1];
	struct engine_file_wanted wanted[ENGINE_FILE_WANTED];
	uint32_t n_wanted;  /* 1 without `where`, `log` and standard_error */
};

/* The request as one message.  Its length, or -EMSGSIZE. */
ssize_t engine_file_pack(const struct engine_file *, char *room, size_t size);
/* Borrows the message, which must end in a 0.  0 or -EBADMSG. */
int engine_file_unpack(const char *message, size_t len, struct engine_file *ret);

/* Whether this process may read as any user: CAP_SETUID and CAP_SETGID. */
bool engine_file_permitted(void);
/*
 * Reads as the user of the request.  Returns the length of the answer: the first lines, or for each wanted text its
 * line or each value, with a 0 behind it; empty: not found, or two files disagree.  -errno: neither path nor log can be
 * read.
 */
ssize_t engine_file_read(const struct engine_file *, char ret[ENGINE_FILE_ANSWER]);

/* The i-th text of an answer; empty behind its end. */
struct skep_str engine_file_value(const struct skep_str *answer, size_t i);

/* The value at a JSON pointer as a text; false: there is none, or it is an object, a list, null. */
bool engine_file_pointer(json_t *json, const char *pointer, char ret[ENGINE_FILE_VALUE]);
/* NULL: the text is a JSON pointer; else the error, as a text. */
const char *engine_file_pointer_error(const char *text);
/* The text without blanks at its ends. */
struct skep_str engine_file_trim(struct skep_str);
/* Whether the file has the wanted text at `where`. */
bool engine_file_is(json_t *json, const char *where, const struct engine_file_wanted *);

#endif
