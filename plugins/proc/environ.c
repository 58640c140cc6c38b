/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/environ.c - the variables that the option `environ` and the host name: checks the names, puts them into
 * the table by which both sides search, and picks the variables from an environment.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define NAME_MOST 31u
_Static_assert(NAME_MOST + 1 == PROC_ENVIRON_WORDS * sizeof(__u64), "a name and its '=' are compared as words");
_Static_assert(PROC_ENVIRON_ENTRY == SKEP_ENVIRON_CUT + 1, "an entry of a record and its NUL");

/* A name that POSIX utilities use, and every shell accepts. */
static bool is_name(const char *name)
{
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return name[0] && !strchr("0123456789", name[0]) && name[strspn(name, rest)] == '\0';
}

int proc_environ_check(struct skep_instance *inst, const struct proc_state *st)
{
	const char *const *names = st->opt_environ;

	for (size_t i = 0; names && names[i]; i++) {
		if (i == PROC_ENVIRON_NAMES)
			return st->host->fail(inst, -EINVAL,
					      "environ: \"%s\" is one too many: skep reads at most %u variables",
					      names[i], PROC_ENVIRON_NAMES);
		if (!is_name(names[i]))
			return st->host->fail(
				inst, -EINVAL,
				"environ: \"%s\" is no variable name: "
				"use letters, digits and _, no digit first, and no value",
				names[i]);
		if (strlen(names[i]) > NAME_MOST)
			return st->host->fail(inst, -EINVAL, "environ: \"%s\" is longer than %u bytes", names[i],
					      NAME_MOST);
	}
	return 0;
}

static __u64 first_word(const char *at)
{
	__u64 word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* at: PROC_ENVIRON_WORDS words, which may be read. The name that begins there, with its '='; NULL: none. */
static const struct proc_environ_name *find(const struct proc_environ_table *t, const char *at)
{
	__u64 key = proc_environ_key(first_word(at)), n;
	__u32 hash = proc_environ_hash(key);

	if (!(t->filter[hash / 64] >> hash % 64 & 1))
		return NULL;
	for (n = t->first[hash % PROC_ENVIRON_CHAINS]; n; n = t->names[n - 1].next) {
		const struct proc_environ_name *name = &t->names[n - 1];
		__u64 differs = key ^ name->words[0];

		for (unsigned k = 1; k < PROC_ENVIRON_WORDS; k++)
			differs |= (first_word(at + 8 * k) ^ name->words[k]) & name->masks[k];
		if (!differs)
			return name;
	}
	return NULL;
}

static bool add(struct proc_environ_table *t, uint32_t i, const char *text)
{
	struct proc_environ_name *name = &t->names[i];
	size_t len = strlen(text);
	__u32 hash;

	if (i >= PROC_ENVIRON_ALL || len > NAME_MOST || !is_name(text))
		return false;
	memset(name, 0, sizeof(*name));
	memcpy(name->words, text, len);
	((char *)name->words)[len] = '=';
	memset(name->masks, 0xff, len + 1);
	hash = proc_environ_hash(name->words[0]);
	t->filter[hash / 64] |= 1ull << hash % 64;
	name->next = t->first[hash % PROC_ENVIRON_CHAINS];
	t->first[hash % PROC_ENVIRON_CHAINS] = (__u8)(i + 1);
	return true;
}

uint32_t proc_environ_option(const struct proc_state *st, struct proc_environ_table *ret)
{
	uint32_t n = 0;

	memset(ret, 0, sizeof(*ret));
	while (st->opt_environ && st->opt_environ[n] && add(ret, n, st->opt_environ[n]))
		n++;
	return n;
}

uint32_t proc_environ_add(struct proc_environ_table *t, uint32_t n, const char *const *names, const char **ret_refused)
{
	for (size_t i = 0; names[i]; i++) {
		if (i < PROC_BOUNDARY_NAMES && add(t, n, names[i]))
			n++;
		else
			*ret_refused = names[i];
	}
	return n;
}

size_t proc_environ_pick(const struct proc_environ_table *t, const char *block, size_t len, char *ret, size_t room)
{
	const char *end = block ? block + len : NULL;
	size_t used = 0;

	while (block < end) {
		size_t n = strnlen(block, (size_t)(end - block)),
		       take = n < PROC_ENVIRON_ENTRY - 1 ? n : PROC_ENVIRON_ENTRY - 1;
		char at[PROC_ENVIRON_WORDS * sizeof(__u64)] = { 0 };

		memcpy(at, block, n < sizeof(at) ? n : sizeof(at));
		if (find(t, at) && used + take + 1 <= room) {
			memcpy(ret + used, block, take);
			ret[used + take] = '\0';
			used += take + 1;
		}
		block += n + 1;
	}
	return used;
}

struct skep_str proc_environ_text(struct skep_instance *inst, struct proc_state *st, const char *block, size_t len)
{
	char *list = st->scratch.environ;
	struct skep_str ret = { .ptr = list };

	/*
	 * Picks by our names, as the kernel side may be a previous skepd's with other names. A list of NAME=value is
	 * redacted as arguments of no program.
	 */
	ret.len = (uint32_t)proc_environ_pick(&st->environ, block, len, list, sizeof(st->scratch.environ));
	if (ret.len)
		st->host->redact(inst, "", list, &ret.len);
	ret.total = ret.len;
	return ret;
}
