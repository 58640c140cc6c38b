/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_scope.c - writes and reads scopes, and what engines said about runs and tasks.
 */
#include "core/process/saved_scope.h"

#include <errno.h>
#include <string.h>

#include "core/process/saved_text.h"
#include "core/process/track_priv.h"

static json_t *number(uint64_t u)
{
	return json_integer((json_int_t)u);
}

static json_t *text(const struct interned *s)
{
	return saved_text(s ? s->text : "", s ? s->len : 0);
}

json_t *saved_scope_json(const struct scope *s)
{
	const struct program *program = s->program;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:b, s:o, s:o, s:o, s:o}", "scope", number(s->id),
			 "outer", number(s->outer ? s->outer->id : 0), "run",
			 saved_text(s->run ? s->run->id : "", s->run ? strlen(s->run->id) : 0), "root",
			 number(s->root.pid), "root_start", number(s->root.start_ns), "engine", text(s->engine),
			 "class", (int)s->class, "nests", s->nests, "whole", s->whole, "uid", number(s->uid), "cwd", text(s->cwd), "exe",
			 text(program ? program->exe : NULL), "argv",
			 saved_text(program ? program->argv : "", program ? program->argv_len : 0));
}

static const char *const contained_keys[CONTAINED_BY] = {
	[IN_CONTAINER] = "container", [IN_CONTAINER_NAME] = "name",      [IN_CONTAINER_IMAGE] = "image",
	[IN_POD] = "pod",             [IN_NAMESPACE] = "namespace", [IN_UNIT] = "unit",
};

/* "from": two bits for each text. */
static json_t *contained_json(const struct containment *c)
{
	json_t *o = json_object();
	uint64_t from = 0;

	for (size_t i = 0; i < CONTAINED_BY; i++) {
		if (c->in[i])
			json_object_set_new(o, contained_keys[i], text(c->in[i]));
		from |= (uint64_t)c->from[i] << 2 * i;
	}
	json_object_set_new(o, "from", number(from));
	return o;
}

json_t *saved_scope_run_json(const struct run *run, json_t *line)
{
	json_object_set_new(line, "contained", contained_json(&run->contained));
	json_object_set_new(line, "engine", saved_text(run->engine, strlen(run->engine)));
	json_object_set_new(line, "class", json_integer(run->class));
	json_object_set_new(line, "parent_run", saved_text(run->parent, strlen(run->parent)));
	json_object_set_new(line, "job", saved_text(run->job, strlen(run->job)));
	json_object_set_new(line, "account", saved_text(run->account, strlen(run->account)));
	json_object_set_new(line, "key", saved_text(run->key, strlen(run->key)));
	json_object_set_new(line, "key_uid", number(run->key_uid));
	json_object_set_new(line, "peers", json_boolean(run->peers));
	if (run->peers) {
		json_object_set_new(line, "quiet", number(run->quiet_ns));
		json_object_set_new(line, "end", number(run->end_ns));
		json_object_set_new(line, "status", json_integer(run->status));
	}
	json_object_set_new(line, "tasked", json_boolean(run->tasked));
	if (run->ended)
		json_object_set_new(line, "ended_at", number(run->end_ns));
	json_object_set_new(line, "job_group", number(run->job_group));
	json_object_set_new(line, "job_session", number(run->job_session));
	return line;
}

static json_t *request_json(const struct task_request *r)
{
	return json_pack("[o, o, o, o, s]", number(r->milli_cpus), number(r->memory_bytes), number(r->walltime_ns),
			 number(r->gpus), r->source ? r->source : "");
}

json_t *saved_scope_task_json(const struct task *task, json_t *line)
{
	json_object_set_new(line, "requested", request_json(&task->requested));
	json_object_set_new(line, "granted", request_json(&task->granted));
	json_object_set_new(line, "starter_cgroup", number(task->starter_cgroup));
	json_object_set_new(line, "kept", json_boolean(task->kept));
	json_object_set_new(line, "contained", contained_json(&task->contained));
	json_object_set_new(line, "scopes", text(task->scopes));
	if (!task->engine)
		return line;
	json_object_set_new(line, "engine", text(task->engine));
	json_object_set_new(line, "sample", text(task->sample));
	json_object_set_new(line, "again", text(task->again));
	json_object_set_new(line, "key", text(task->key));
	json_object_set_new(line, "job", text(task->job));
	json_object_set_new(line, "attempt", number(task->attempt));
	json_object_set_new(line, "name_source", json_string(task->name_source));
	return line;
}

static bool get(json_t *line, const char *key, uint64_t *ret)
{
	json_t *value = json_object_get(line, key);

	*ret = (uint64_t)json_integer_value(value);
	return json_is_integer(value);
}

/* The text at `key`; NULL: empty, missing, no memory. */
static const struct interned *get_text(struct track *t, json_t *line, const char *key)
{
	const char *read = saved_text_read(line, key);
	uint32_t len = (uint32_t)json_string_length(json_object_get(line, key));
	const struct skep_str bytes = { read, len, len };

	return read && len ? intern_get(t->intern, &bytes) : NULL;
}

static void get_contained(struct track *t, json_t *line, struct containment *ret)
{
	json_t *o = json_object_get(line, "contained");
	uint64_t from = 0;

	get(o, "from", &from);
	for (size_t i = 0; i < CONTAINED_BY; i++) {
		ret->in[i] = get_text(t, o, contained_keys[i]);
		ret->from[i] = (enum containment_from)(from >> 2 * i & 3);
	}
}

static struct program *get_program(struct track *t, json_t *line)
{
	const char *exe = saved_text_read(line, "exe"), *argv = saved_text_read(line, "argv");
	uint32_t len = (uint32_t)json_string_length(json_object_get(line, "argv"));
	struct skep_str none = { "", 0, 0 }, path = exe ? text_str(exe) : none, words = { argv ? argv : "", len, len };
	struct tool_name tool;

	tools_recognize(t->env.tools, &path, &none, &words, &none, &tool);
	return program_new(t->intern, &path, &none, &words, tool.name, tool.wrapper);
}

int saved_scope_read(struct track *t, json_t *line)
{
	const char *run = saved_text_read(line, "run");
	uint64_t id, outer, root, root_start, uid, class;
	struct scope *s;

	if (!get(line, "scope", &id) || !get(line, "outer", &outer) || !get(line, "root", &root) ||
	    !get(line, "root_start", &root_start) || !get(line, "uid", &uid) || !get(line, "class", &class) ||
	    class >= RECOGNIZER_CLASSES || id <= t->scopes.last_id || root == 0 || root > INT32_MAX)
		return -EBADMSG;
	s = scope_new(&t->scopes, outer ? scope_find(&t->scopes, outer) : NULL);
	if (!s)
		return -ENOMEM;
	s->id = t->scopes.last_id = id;
	s->restored = true;
	s->root = (struct skep_upid){ .pid = (uint32_t)root, .start_ns = root_start };
	s->uid = (uint32_t)uid;
	s->class = (enum recognizer_class)class;
	s->nests = json_is_true(json_object_get(line, "nests"));
	s->whole = json_is_true(json_object_get(line, "whole"));
	s->engine = get_text(t, line, "engine");
	scope_set_names(s, t->intern);
	s->cwd = get_text(t, line, "cwd");
	s->program = get_program(t, line);
	s->run = run_ref(run && *run ? run_find(&t->runs, run) : NULL);
	s->keyed = s->run && s->run->key[0];
	if (t->env.recognizers && s->engine)
		s->entry = recognizers_find(t->env.recognizers, s->engine->text);
	return s->engine && s->program ? 0 : -ENOMEM;
}

int saved_scope_run_read(struct track *t, struct run *run, json_t *line)
{
	const char *engine = saved_text_read(line, "engine"), *parent = saved_text_read(line, "parent_run");
	const char *job = saved_text_read(line, "job"), *key = saved_text_read(line, "key");
	const char *account = saved_text_read(line, "account");
	struct skep_str texts[] = { text_str(parent ? parent : ""), text_str(job ? job : ""),
				    text_str(key ? key : ""), text_str(account ? account : "") };
	uint64_t class, uid, status, group, session;

	if (get(line, "job_group", &group) && get(line, "job_session", &session) && group <= INT32_MAX &&
	    session <= INT32_MAX) {
		run->job_group = (uint32_t)group;
		run->job_session = (uint32_t)session;
	}
	get_contained(t, line, &run->contained);
	run->tasked = json_is_true(json_object_get(line, "tasked"));
	get(line, "ended_at", &run->end_ns);
	run->peers = json_is_true(json_object_get(line, "peers"));
	if (run_set(&run->parent, &texts[0]) < 0)
		return -ENOMEM;
	if (!engine || !*engine || !get(line, "class", &class) || class >= RECOGNIZER_CLASSES)
		return 0;
	if (!get(line, "key_uid", &uid) || uid > UINT32_MAX)
		texts[2] = text_str("");
	else
		run->key_uid = (uint32_t)uid;
	if (run->peers && get(line, "status", &status) && get(line, "end", &run->end_ns) &&
	    get(line, "quiet", &run->quiet_ns))
		run->status = (int)status;
	return run_engine(run, engine, (enum recognizer_class)class) < 0 || run_set(&run->job, &texts[1]) < 0 ||
			       run_set(&run->key, &texts[2]) < 0 || run_set(&run->account, &texts[3]) < 0
		       ? -ENOMEM
		       : 0;
}

/* The static text that stands for where a fact came from. */
static const char *source_of(const char *text)
{
	static const char *const sources[] = { "argv", "environ", "cwd", "cgroup", "program", "table", "file", "job" };

	for (size_t i = 0; text && i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strcmp(text, sources[i]) == 0)
			return sources[i];
	return NULL;
}

static void get_request(json_t *line, const char *key, struct task_request *ret)
{
	json_t *list = json_object_get(line, key);

	*ret = (struct task_request){
		.milli_cpus = (uint64_t)json_integer_value(json_array_get(list, 0)),
		.memory_bytes = (uint64_t)json_integer_value(json_array_get(list, 1)),
		.walltime_ns = (uint64_t)json_integer_value(json_array_get(list, 2)),
		.gpus = (uint64_t)json_integer_value(json_array_get(list, 3)),
		.source = source_of(json_string_value(json_array_get(list, 4))),
	};
}

void saved_scope_task_read(struct track *t, struct task *task, json_t *line)
{
	const char *source = source_of(json_string_value(json_object_get(line, "name_source")));
	uint64_t attempt;

	get_request(line, "requested", &task->requested);
	get_request(line, "granted", &task->granted);
	task->cpus_limit = task->memory_limit = task->granted.source && strcmp(task->granted.source, "cgroup") == 0;
	get(line, "starter_cgroup", &task->starter_cgroup);
	task->kept = json_is_true(json_object_get(line, "kept"));
	get_contained(t, line, &task->contained);
	task->scopes = get_text(t, line, "scopes");
	task->engine = get_text(t, line, "engine");
	if (!task->engine)
		return;
	task->sample = get_text(t, line, "sample");
	task->again = get_text(t, line, "again");
	task->key = get_text(t, line, "key");
	task->job = get_text(t, line, "job");
	if (source)
		task->name_source = source;
	task->attempt = get(line, "attempt", &attempt) && attempt <= UINT32_MAX ? (uint32_t)attempt : 0;
}

void saved_scope_settle(struct track *t)
{
	/* A scope further out is older, so it comes later in the list and has a reference of its own until then. */
	for (struct scope *s = t->scopes.first, *next; s; s = next) {
		next = s->next;
		if (!s->restored)
			continue;
		s->restored = false;
		scope_unref(&t->scopes, t->intern, s);
	}
}
