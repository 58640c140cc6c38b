/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/html.c - see cli/web/html.h.  The answers are one JSON object, packed by gzip, in base64: a browser unpacks
 * that itself, and no text of a process can end the element that holds it.
 */
#include "cli/web/html.h"

#include <errno.h>
#include <libdeflate.h>
#include <skep/sink/jsonw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/library.h"
#include "cli/base/skep.h"
#include "cli/web/assets.h"

#define PACK_LEVEL 9

static struct {
	__typeof__(libdeflate_alloc_compressor) *alloc_compressor;
	__typeof__(libdeflate_gzip_compress_bound) *compress_bound;
	__typeof__(libdeflate_gzip_compress) *compress;
	__typeof__(libdeflate_free_compressor) *free_compressor;
} lib;

static int library(char *why, size_t room)
{
	static const char *const names[] = { "libdeflate.so.0", "libdeflate.so", NULL };
	static const struct library_symbol symbols[] = {
		{ "libdeflate_alloc_compressor", &lib.alloc_compressor },
		{ "libdeflate_gzip_compress_bound", &lib.compress_bound },
		{ "libdeflate_gzip_compress", &lib.compress },
		{ "libdeflate_free_compressor", &lib.free_compressor },
		{ 0 },
	};

	return lib.compress ? 0 : library_load(names, "libdeflate0", symbols, why, room);
}

static int put_answer(const struct html_answer *a, struct jsonw *j, char *why, size_t room)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err = out ? a->write(a->arg, out, why, room) : -ENOMEM;

	if (out && fclose(out) != 0 && !err)
		err = -ENOMEM;
	if (!err) {
		skep_jsonw_string(j, a->path, strlen(a->path));
		jsonw_lit(j, ":");
		skep_jsonw_raw(j, text, len);
	}
	free(text);
	return err;
}

/* {"page": "#/run/ID", "answers": {"/api/run/ID": ...}} */
static int join(const char *page, const struct html_answer *answers, size_t n, struct jsonw *j, char *why, size_t room)
{
	int err = 0;

	jsonw_lit(j, "{\"page\":");
	skep_jsonw_string(j, page, strlen(page));
	jsonw_lit(j, ",\"answers\":{");
	for (size_t i = 0; i < n && !err; i++) {
		if (i)
			jsonw_lit(j, ",");
		err = put_answer(&answers[i], j, why, room);
	}
	jsonw_lit(j, "}}");
	return err ? err : j->err;
}

/* The caller frees *ret. */
static int pack(const struct jsonw *j, unsigned char **ret, size_t *ret_len)
{
	struct libdeflate_compressor *c = lib.alloc_compressor(PACK_LEVEL);
	size_t bound = c ? lib.compress_bound(c, j->len) : 0;
	unsigned char *packed = c ? malloc(bound) : NULL;

	if (packed)
		*ret_len = lib.compress(c, j->buf, j->len, packed, bound);
	if (c)
		lib.free_compressor(c);
	*ret = packed;
	return packed && *ret_len ? 0 : -ENOMEM;
}

static void base64(const unsigned char *p, size_t n, FILE *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; n >= 3; p += 3, n -= 3) {
		const unsigned v = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
		const char four[] = { digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63] };

		fwrite(four, 1, 4, out);
	}
	if (n) {
		const unsigned v = (unsigned)p[0] << 16 | (n > 1 ? (unsigned)p[1] << 8 : 0);
		const char four[] = { digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=', '=' };

		fwrite(four, 1, 4, out);
	}
}

/* Writes the page, with a part of the report in place of each @WORD@. */
static int put(const unsigned char *packed, size_t len, FILE *out)
{
	static const char *const words[] = { "@CSS@", "@JS@", "@DATA@" };
	const char *at = web_report.data;

	errno = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *word = strstr(at, words[i]);

		if (!word)
			return -EINVAL; /* web/src/report.html lacks it */
		fwrite(at, 1, (size_t)(word - at), out);
		if (i == 0)
			fwrite(web_style.data, 1, web_style.len, out);
		else if (i == 1)
			fwrite(web_script.data, 1, web_script.len, out);
		else
			base64(packed, len, out);
		at = word + strlen(words[i]);
	}
	fputs(at, out);
	return fflush(out) != 0 || ferror(out) ? (errno ? -errno : -EIO) : 0;
}

int html_write(const char *page, const struct html_answer *answers, size_t n, FILE *out, char *why, size_t room)
{
	struct jsonw j = { 0 };
	unsigned char *packed = NULL;
	size_t len = 0;
	int err = library(why, room);

	if (err)
		return err;
	why[0] = '\0';
	err = join(page, answers, n, &j, why, room);
	if (!err)
		err = pack(&j, &packed, &len);
	skep_jsonw_free(&j);
	if (!err)
		err = put(packed, len, out);
	if (err && !why[0])
		snprintf(why, room, "%s", strerror(-err));
	free(packed);
	return err;
}

/* ---- the file --------------------------------------------------------------------- */

int html_possible(const char *command, const char *path)
{
	if (!web_built(command))
		return SKEP_EXIT_RUNTIME;
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		return skep_usage(command, "--html -: a page is no text for a terminal; name a file, or use a pipe");
	return SKEP_EXIT_OK;
}

int html_begin(const char *command, const char *path, struct out_file *ret)
{
	const int err = out_file_open(path, ret);

	return err ? skep_fail(command, SKEP_EXIT_RUNTIME, "cannot write %s: %s", path, strerror(-err)) : SKEP_EXIT_OK;
}

int html_end(const char *command, const char *path, struct out_file *out, int err, const char *why)
{
	const int rc = out_file_close(out, err);

	return rc ? skep_fail(command, SKEP_EXIT_RUNTIME, "cannot write %s: %s", path, err && *why ? why : strerror(-rc))
		  : SKEP_EXIT_OK;
}
