/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config.c - loads the file of a configuration, if the caller may trust it; frees a configuration.
 */
#include "core/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/trust.h"
#include "core/config/config_pos.h"
#include "core/config/option_memory.h"

#define FILE_MAX (4u << 20)

/*
 * A pipe or a device needs no check: the caller chose it, and could choose the file as well.  After a privileged start
 * the caller chooses nothing.
 */
static int check_owner(const char *file, const struct stat *st, struct diag *diag)
{
	if (!S_ISREG(st->st_mode) && !privileged_start())
		return 0;
	if (!trust_uid(st->st_uid))
		diag_add(
			diag, DIAG_ERROR, file, 0, 0,
			"belongs to uid %u: it says which code skepd loads and where records go, so root or the user of skepd must own it: "
			"chown root it",
			(unsigned)st->st_uid);
	else if (st->st_mode & (S_IWGRP | S_IWOTH))
		diag_add(
			diag, DIAG_ERROR, file, 0, 0,
			"is writable by %s (mode %04o): it says which code skepd loads and where records go: "
			"chmod go-w it",
			st->st_mode & S_IWOTH ? "everybody" : "its group", (unsigned)(st->st_mode & 07777));
	else
		return 0;
	return -EPERM;
}

static struct config *load(const char *file, bool trusted, struct diag *diag)
{
	struct config *config = NULL;
	struct stat st;
	char *text;
	size_t len;

	if (config_read_file_stat(file, FILE_MAX, diag, &text, &len, &st))
		return NULL;
	if (!trusted || check_owner(file, &st, diag) == 0)
		config = config_parse(text, len, file, diag);
	if (config)
		config->others_read = S_ISREG(st.st_mode) && (st.st_mode & S_IROTH);
	explicit_bzero(text, len); /* it may have had secrets */
	free(text);
	return config;
}

struct config *config_load(const char *file, struct diag *diag)
{
	return load(file, false, diag);
}

struct config *config_load_trusted(const char *file, struct diag *diag)
{
	return load(file, true, diag);
}

static void entries_free(struct config_plugin *entries, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_decref(entries[i].options);
	free(entries);
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	entries_free(config->probes, config->n_probes);
	entries_free(config->sinks, config->n_sinks);
	json_decref(config->labels);
	options_memory_free(config->memory);
	config_pos_free(config->positions);
	free(config->file);
	free(config);
	return NULL;
}

void config_option_position(const struct config_plugin *entry, const char *key, int *ret_line, int *ret_column)
{
	const struct config_pos *at = config_pos_key(entry->at, key);

	*ret_line = at ? at->key_line : entry->line;
	*ret_column = at ? at->key_column : 0;
}

void config_entry_name(const struct config_plugin *entry, char *ret, size_t size)
{
	snprintf(ret, size, "%s[%zu] (%s)", entry->list, entry->index, entry->name);
}
