/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/plugin_check.c - checks that a plugin's descriptor agrees with its note and is sound. The other
 * rooms rely on callbacks, option table and field tables without checking again, so this file checks them all
 * once.
 */
#include "core/plugin/plugin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Descriptors are append-only: a shorter one is not even version 1.0. */
#define PLUGIN_SIZE_1_0   (offsetof(struct skep_plugin, drain) + sizeof(((struct skep_plugin *)NULL)->drain))
#define SINK_OPS_SIZE_1_0 (offsetof(struct skep_sink_ops, reserved) + sizeof(((struct skep_sink_ops *)NULL)->reserved))
#define STREAM_SIZE_1_0   (offsetof(struct skep_stream, fields) + sizeof(((struct skep_stream *)NULL)->fields))
#define FIELD_SIZE_1_0    (offsetof(struct skep_field, help) + sizeof(((struct skep_field *)NULL)->help))
#define OPTION_SIZE_1_0   (offsetof(struct skep_option, help) + sizeof(((struct skep_option *)NULL)->help))
#define DETAIL_SIZE_1_0   (offsetof(struct skep_detail, scopes) + sizeof(((struct skep_detail *)NULL)->scopes))

#define STATE_SIZE_MAX    (16u << 20)
/* Far above any real table: an uninitialised count must not become a long walk. */
#define STREAMS_MAX       256u
#define FIELDS_MAX        1024u
#define OPTIONS_MAX       1024u
#define RECORD_SIZE_MAX   (1u << 20)
#define DETAILS_MAX       64u

struct check {
	const char *path;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int check_fail(const struct check *c, const char *fmt, ...)
{
	va_list args;
	int n;

	if (c->why_size == 0)
		return -ENOEXEC;
	n = snprintf(c->why, c->why_size, "%s: ", c->path);
	if (n < 0 || (size_t)n >= c->why_size)
		return -ENOEXEC;
	va_start(args, fmt);
	vsnprintf(c->why + n, c->why_size - (size_t)n, fmt, args);
	va_end(args);
	return -ENOEXEC;
}

bool plugin_field_type(uint32_t type, size_t *ret_size, size_t *ret_align)
{
	switch (type) {
	case SKEP_T_U64:
	case SKEP_T_I64:
	case SKEP_T_F64:
	case SKEP_T_TIME:
		*ret_size = *ret_align = 8;
		return true;
	case SKEP_T_BOOL:
		*ret_size = *ret_align = 1;
		return true;
	case SKEP_T_STR:
	case SKEP_T_STRV:
		*ret_size = sizeof(struct skep_str);
		*ret_align = _Alignof(struct skep_str);
		return true;
	case SKEP_T_UPID:
		*ret_size = sizeof(struct skep_upid);
		*ret_align = _Alignof(struct skep_upid);
		return true;
	case SKEP_T_HIST:
		*ret_size = sizeof(struct skep_hist);
		*ret_align = _Alignof(struct skep_hist);
		return true;
	case SKEP_T_HASH:
	case SKEP_T_IP:
		*ret_size = 16;
		*ret_align = 1;
		return true;
	default:
		return false;
	}
}

/* The smallest record of the role: its size in ABI 1.0. 0: any size. */
static size_t check_role_size(uint32_t role)
{
	switch (role) {
	case SKEP_ROLE_PROC_FORK:
		return sizeof(struct skep_process_fork);
	case SKEP_ROLE_PROC_EXEC:
		return sizeof(struct skep_process_exec);
	case SKEP_ROLE_PROC_EXIT:
		return sizeof(struct skep_process_exit);
	case SKEP_ROLE_PROC_FINAL:
		return sizeof(struct skep_process_final);
	case SKEP_ROLE_PROC_LIVE:
		return sizeof(struct skep_process_live);
	case SKEP_ROLE_PROC_OOM:
		return sizeof(struct skep_process_oom);
	case SKEP_ROLE_PROC_EXCLUDED:
		return sizeof(struct skep_process_excluded);
	case SKEP_ROLE_CGROUP:
	case SKEP_ROLE_DETAIL:
		return sizeof(uint64_t); /* the id */
	case SKEP_ROLE_LEDGER:
		return sizeof(struct skep_ledger_post);
	default:
		return 0;
	}
}

static int check_field(const struct check *c, const struct skep_stream *stream, uint32_t i)
{
	const struct skep_field *field = skep_stream_field(stream, i);
	size_t size, align;

	if (!field->name || field->name[0] == '\0')
		return check_fail(c, "stream \"%s\": field number %u has no name", stream->name, i);
	for (uint32_t k = 0; k < i; k++)
		if (strcmp(skep_stream_field(stream, k)->name, field->name) == 0)
			return check_fail(c, "stream \"%s\": two fields are named \"%s\"", stream->name, field->name);
	if (!field->unit || !field->help)
		return check_fail(c, "stream \"%s\", field \"%s\": unit and help must be set (\"\" for no unit)",
				  stream->name, field->name);
	if (!plugin_field_type(field->type, &size, &align))
		return check_fail(c, "stream \"%s\", field \"%s\": type %u is not known", stream->name, field->name,
				  field->type);
	if (field->semantics < SKEP_S_ATTRIBUTE || field->semantics > SKEP_S_CUMULATIVE)
		return check_fail(c, "stream \"%s\", field \"%s\": semantics %u are not known", stream->name,
				  field->name, field->semantics);
	if (field->offset > stream->record_size || stream->record_size - field->offset < size)
		return check_fail(
			c,
			"stream \"%s\", field \"%s\": %zu bytes at offset %u do not lie within the record's %u bytes",
			stream->name, field->name, size, field->offset, stream->record_size);
	if (field->offset % align != 0)
		return check_fail(c,
				  "stream \"%s\", field \"%s\": offset %u is not a multiple of %zu, as its type needs",
				  stream->name, field->name, field->offset, align);
	return 0;
}

static int check_stream(const struct check *c, const struct skep_plugin *desc, uint32_t i)
{
	const struct skep_stream *stream = desc->streams[i];
	int err;

	if (!stream || stream->size < STREAM_SIZE_1_0)
		return check_fail(c,
				  "stream number %u: its descriptor is missing or shorter than in ABI 1.0 (%zu bytes)",
				  i, STREAM_SIZE_1_0);
	if (!stream->name || stream->name[0] == '\0' || !stream->help)
		return check_fail(c, "stream number %u has no name or no help", i);
	for (uint32_t k = 0; k < i; k++)
		if (strcmp(desc->streams[k]->name, stream->name) == 0)
			return check_fail(c, "two streams are named \"%s\"", stream->name);
	if (stream->role > SKEP_ROLE_PROC_EXCLUDED)
		return check_fail(c, "stream \"%s\": role %u is not known", stream->name, stream->role);
	if (stream->record_size == 0 || stream->record_size > RECORD_SIZE_MAX)
		return check_fail(c, "stream \"%s\": a record of %u bytes (1 to %u are accepted)", stream->name,
				  stream->record_size, RECORD_SIZE_MAX);
	if (stream->record_size < check_role_size(stream->role))
		return check_fail(c, "stream \"%s\": a record of %u bytes, but its role needs %zu", stream->name,
				  stream->record_size, check_role_size(stream->role));
	if (stream->n_fields > FIELDS_MAX || (stream->n_fields > 0 && !stream->fields))
		return check_fail(c, "stream \"%s\": %u fields, but no table or more than %u", stream->name,
				  stream->n_fields, FIELDS_MAX);
	if (stream->n_fields > 0 &&
	    (stream->field_size < FIELD_SIZE_1_0 || stream->field_size % _Alignof(struct skep_field) != 0))
		return check_fail(c,
				  "stream \"%s\": field_size %u, expected sizeof(struct skep_field) (%zu in ABI 1.0)",
				  stream->name, stream->field_size, FIELD_SIZE_1_0);
	for (uint32_t k = 0; k < stream->n_fields; k++) {
		err = check_field(c, stream, k);
		if (err < 0)
			return err;
	}
	return 0;
}

static size_t check_option_size(uint32_t type)
{
	switch (type) {
	case SKEP_O_BOOL:
		return sizeof(bool);
	case SKEP_O_INT:
	case SKEP_O_SIZE:
	case SKEP_O_TIME:
		return 8;
	case SKEP_O_STR:
	case SKEP_O_STRV:
		return sizeof(void *);
	default:
		return 0;
	}
}

static int check_options(const struct check *c, const struct skep_plugin *desc)
{
	const struct skep_option *option;

	if (!desc->options)
		return 0;
	if (desc->option_size < OPTION_SIZE_1_0 || desc->option_size % _Alignof(struct skep_option) != 0)
		return check_fail(c, "option_size %u, expected sizeof(struct skep_option) (%zu in ABI 1.0)",
				  desc->option_size, OPTION_SIZE_1_0);
	for (uint32_t i = 0;; i++) {
		option = (const void *)((const char *)desc->options + (size_t)i * desc->option_size);
		if (!option->name)
			return 0;
		if (i == OPTIONS_MAX)
			return check_fail(c, "more than %u options: does the table end with a NULL name?", OPTIONS_MAX);
		if (option->name[0] == '\0' || !option->help)
			return check_fail(c, "option number %u has no name or no help", i);
		for (uint32_t k = 0; k < i; k++) {
			const struct skep_option *other =
				(const void *)((const char *)desc->options + (size_t)k * desc->option_size);

			if (strcmp(other->name, option->name) == 0)
				return check_fail(c, "two options are named \"%s\"", option->name);
		}
		/* skepd itself uses these keys in every entry of "probes" and "sinks". */
		if (strcmp(option->name, "plugin") == 0 || strcmp(option->name, "name") == 0 ||
		    strcmp(option->name, "required") == 0)
			return check_fail(c, "option \"%s\": skepd has an option of that name; rename it",
					  option->name);
		if (check_option_size(option->type) == 0)
			return check_fail(c, "option \"%s\": type %u is not known", option->name, option->type);
		if (option->offset > desc->state_size ||
		    desc->state_size - option->offset < check_option_size(option->type) ||
		    option->offset % check_option_size(option->type) != 0)
			return check_fail(
				c,
				"option \"%s\": offset %u does not fit into the state's %llu bytes, or is not aligned",
				option->name, option->offset, (unsigned long long)desc->state_size);
	}
}

static int check_details(const struct check *c, const struct skep_plugin *desc)
{
	const struct skep_detail *detail, *other;

	if (!desc->details || !desc->n_details)
		return 0;
	if (desc->detail_size < DETAIL_SIZE_1_0 || desc->detail_size % _Alignof(struct skep_detail) != 0)
		return check_fail(c, "detail_size %u, expected sizeof(struct skep_detail) (%zu in ABI 1.0)",
				  desc->detail_size, DETAIL_SIZE_1_0);
	if (desc->n_details > DETAILS_MAX)
		return check_fail(c, "%u details, at most %u are accepted", desc->n_details, DETAILS_MAX);
	if (!desc->attach || !desc->detach)
		return check_fail(c, "a table of details, but attach() or detach() is not set");
	for (uint32_t i = 0; i < desc->n_details; i++) {
		detail = (const void *)((const char *)desc->details + (size_t)i * desc->detail_size);
		if (!detail->name || detail->name[0] == '\0' || !detail->help)
			return check_fail(c, "detail number %u has no name or no help", i);
		for (uint32_t k = 0; k < i; k++) {
			other = (const void *)((const char *)desc->details + (size_t)k * desc->detail_size);
			if (strcmp(other->name, detail->name) == 0)
				return check_fail(c, "two details are named \"%s\"", detail->name);
		}
		if (detail->stream >= desc->n_streams || desc->streams[detail->stream]->role != SKEP_ROLE_DETAIL)
			return check_fail(c, "detail \"%s\": its stream number %u has not the role DETAIL",
					  detail->name, detail->stream);
		if (detail->scopes == 0 || detail->scopes >> (SKEP_SCOPE_PID + 1))
			return check_fail(c, "detail \"%s\": scopes 0x%x are not known", detail->name, detail->scopes);
	}
	return 0;
}

int plugin_check_descriptor(const struct skep_plugin *desc, const struct skep_plugin_note *note, const char *path,
			    char *why, size_t why_size)
{
	const struct check c = { path, why, why_size };
	int err;

	if (!desc)
		return check_fail(&c, SKEP_ENTRY_SYMBOL "() returned no descriptor");
	if (desc->magic != SKEP_NOTE_MAGIC)
		return check_fail(&c, "bad magic 0x%08x in the descriptor, expected 0x%08x", desc->magic,
				  SKEP_NOTE_MAGIC);
	if (desc->abi_major != note->abi_major || desc->abi_minor != note->abi_minor)
		return check_fail(
			&c,
			"descriptor and note disagree: ABI %u.%u and %u.%u; build the plugin from one set of headers",
			desc->abi_major, desc->abi_minor, note->abi_major, note->abi_minor);
	if (desc->size < PLUGIN_SIZE_1_0)
		return check_fail(&c,
				  "a descriptor of %u bytes, at least %zu are needed for ABI 1.0; set .size = "
				  "sizeof(struct skep_plugin)",
				  desc->size, PLUGIN_SIZE_1_0);
	if (desc->kind != note->kind)
		return check_fail(&c, "descriptor and note disagree: kind %u and %u", desc->kind, note->kind);
	if (!desc->name || strcmp(desc->name, note->name) != 0)
		return check_fail(&c, "descriptor and note disagree: name \"%s\" and \"%s\"",
				  desc->name ? desc->name : "", note->name);
	if (!desc->version || strcmp(desc->version, note->version) != 0)
		return check_fail(&c, "descriptor and note disagree: version \"%s\" and \"%s\"",
				  desc->version ? desc->version : "", note->version);
	if (!desc->summary || !desc->license)
		return check_fail(&c, "the descriptor's summary and license must be set");
	if (desc->state_size > STATE_SIZE_MAX)
		return check_fail(&c, "a state of %llu bytes, at most %u are accepted; allocate large things in open()",
				  (unsigned long long)desc->state_size, STATE_SIZE_MAX);
	if (!desc->open || !desc->start || !desc->stop || !desc->close)
		return check_fail(&c, "the descriptor lacks %s(); open, start, stop and close must be set",
				  !desc->open    ? "open"
				  : !desc->start ? "start"
				  : !desc->stop  ? "stop"
						 : "close");
	if (desc->kind == SKEP_KIND_SINK &&
	    (!desc->sink || desc->sink->size < SINK_OPS_SIZE_1_0 || !desc->sink->submit))
		return check_fail(&c, "a sink without submit(): set .sink, with its size");
	err = check_options(&c, desc);
	if (err < 0)
		return err;
	if (desc->n_streams > STREAMS_MAX || (desc->n_streams > 0 && !desc->streams))
		return check_fail(&c, "%u streams, but no table or more than %u", desc->n_streams, STREAMS_MAX);
	for (uint32_t i = 0; i < desc->n_streams; i++) {
		err = check_stream(&c, desc, i);
		if (err < 0)
			return err;
	}
	return check_details(&c, desc);
}
