/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/environ.c - the variables that the option `environ` names: checks them, hands them to the kernel side,
 * and picks them from an environment.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define NAME_MOST 31u
_Static_assert(NAME_MOST + 1 == PROC_ENVIRON_WORDS * sizeof(__u64), "a name and its '=' are compared as words");

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
				"environ: \"%s\" is no variable name: use letters, digits and _, no digit first, and no value",
				names[i]);
		if (strlen(names[i]) > NAME_MOST)
			return st->host->fail(inst, -EINVAL, "environ: \"%s\" is longer than %u bytes", names[i],
					      NAME_MOST);
	}
	return 0;
}

uint32_t proc_environ_names(const struct proc_state *st, struct proc_environ_name ret[PROC_ENVIRON_NAMES])
{
	uint32_t n = 0;

	memset(ret, 0, PROC_ENVIRON_NAMES * sizeof(*ret));
	for (; st->opt_environ && st->opt_environ[n]; n++) {
		size_t len = strlen(st->opt_environ[n]);

		memcpy(ret[n].words, st->opt_environ[n], len);
		((char *)ret[n].words)[len] = '=';
		memset(ret[n].masks, 0xff, len + 1);
	}
	return n;
}

static bool is_wanted(const struct proc_state *st, const char *entry, size_t len)
{
	const char *equals = memchr(entry, '=', len);

	for (size_t i = 0; equals && st->opt_environ && st->opt_environ[i]; i++)
		if (strlen(st->opt_environ[i]) == (size_t)(equals - entry) &&
		    memcmp(st->opt_environ[i], entry, (size_t)(equals - entry)) == 0)
			return true;
	return false;
}

size_t proc_environ_pick(const struct proc_state *st, const char *block, size_t len, char *ret, size_t room)
{
	const char *end = block ? block + len : NULL;
	size_t used = 0;

	while (block < end) {
		size_t n = strnlen(block, (size_t)(end - block)),
		       take = n < PROC_ENVIRON_ENTRY - 1 ? n : PROC_ENVIRON_ENTRY - 1;

		if (is_wanted(st, block, n) && used + take + 1 <= room) {
			memcpy(ret + used, block, take);
			ret[used + take] = '\0';
			used += take + 1;
		}
		block += n + 1;
	}
	return used;
}
