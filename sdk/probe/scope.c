/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/scope.c - tracks the attachments of details, and their tables in BPF memory.
 */
#include <errno.h>
#include <poll.h>
#include <skep/scope.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sdk/probe/hierarchy.h"

int skep_scope_check(const struct skep_detail_scope *scope, const char **ret_why)
{
	*ret_why = NULL;
	switch (scope->kind) {
	case SKEP_SCOPE_HOST:
		return 0;
	case SKEP_SCOPE_GROUP:
		if (scope->value >= 1 && scope->value <= SKEP_VERDICT_GROUPS)
			return 0;
		*ret_why = "a group is a number from 1 to 63";
		return -EINVAL;
	case SKEP_SCOPE_CGROUP:
		if (scope->value > 0)
			return 0;
		*ret_why = "a cgroup's id is not 0";
		return -EINVAL;
	case SKEP_SCOPE_PID:
		if (scope->value >= 1 && scope->value <= INT32_MAX)
			return 0;
		*ret_why = "a pid is a positive number";
		return -EINVAL;
	default:
		*ret_why = "the scope is of a kind that this version does not know";
		return -EINVAL;
	}
}

bool skep_scope_cgroup_v1(void)
{
	return skep_hierarchy_v1("", "memory") != 0;
}

/*
 * Opens the process of a scope.  Returns a descriptor that becomes readable at the process's end, and the identity if
 * the plugin host knows the process.  0, or the result of host->fail().
 */
static int skep_scope_process(struct skep_instance *inst, const struct skep_host *host, uint32_t pid,
				     int *ret_pidfd, struct skep_upid *ret_who)
{
	struct skep_upid who = { 0 };
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0); /* since 5.3; close-on-exec */

	/* parentheses, because a test framework may define a macro of that name */
	if (fd < 0 && errno == ESRCH)
		return (host->fail)(inst, -ESRCH, "there is no process %u", pid);
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		return (host->fail)(inst, -EINVAL, "%u is a thread; give its process (Tgid in /proc/%u/status)", pid,
				    pid);
	/* for another error (a sandbox refuses the call) the detail stays until its time is over */
	if (host->process_by_pid(inst, pid, &who) && who.pid == pid)
		*ret_who = who;
	*ret_pidfd = fd;
	return 0;
}

unsigned skep_attached_n(const struct skep_attached attached[SKEP_SCOPE_SLOTS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		n += attached[i].used;
	return n;
}

unsigned skep_attached_find(const struct skep_attached attached[SKEP_SCOPE_SLOTS], uint64_t id)
{
	unsigned i = 0;

	while (i < SKEP_SCOPE_SLOTS && (!attached[i].used || attached[i].scope.id != id))
		i++;
	return i;
}

int skep_attached_begin(struct skep_instance *inst, const struct skep_host *host,
				      struct skep_attached attached[SKEP_SCOPE_SLOTS], unsigned kind,
				      const struct skep_detail_scope *scope, unsigned *ret_slot)
{
	struct skep_attached taken = { .used = true, .kind = kind, .scope = *scope, .pidfd = -1 };
	const char *why;
	unsigned slot = 0;
	int err = skep_scope_check(scope, &why);

	if (err)
		return (host->fail)(inst, err, "%s, not %llu", why, (unsigned long long)scope->value);
	while (slot < SKEP_SCOPE_SLOTS && attached[slot].used)
		slot++;
	if (slot == SKEP_SCOPE_SLOTS)
		return (host->fail)(inst, -EBUSY, "%u details are attached already; detach one", SKEP_SCOPE_SLOTS);
	if (scope->kind == SKEP_SCOPE_PID)
		err = skep_scope_process(inst, host, (uint32_t)scope->value, &taken.pidfd, &taken.who);
	if (err)
		return err;
	attached[slot] = taken;
	*ret_slot = slot;
	return 0;
}

void skep_attached_end(struct skep_attached *a)
{
	if (a->used && a->pidfd >= 0)
		close(a->pidfd);
	*a = (struct skep_attached){ .pidfd = -1 };
}

bool skep_attached_ended(const struct skep_attached *a)
{
	struct pollfd p = { .fd = a->pidfd, .events = POLLIN };

	return a->used && a->pidfd >= 0 && poll(&p, 1, 0) == 1;
}

void skep_attached_over(struct skep_instance *inst, const struct skep_host *host, struct skep_attached *a)
{
	if (a->over)
		return;
	a->over = true;
	host->detail_over(inst, a->scope.id, "the process has ended");
}

static void skep_scopes_put(__u32 *word, __u32 bit)
{
	__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
}

static void skep_scopes_take(__u32 *word, __u32 bit)
{
	__atomic_fetch_and(word, ~bit, __ATOMIC_RELEASE);
}

void skep_scopes_add(struct skep_scopes *s, unsigned slot, const struct skep_attached *a)
{
	__u32 bit = 1u << slot;

	__atomic_store_n(&s->value[slot], a->scope.value, __ATOMIC_RELAXED);
	__atomic_store_n(&s->start_ns[slot], a->who.start_ns, __ATOMIC_RELAXED);
	switch (a->scope.kind) {
	case SKEP_SCOPE_HOST:
		for (unsigned byte = 0; byte < SKEP_VERDICT_EXCLUDED; byte++)
			skep_scopes_put(&s->of_byte[byte], bit);
		break;
	case SKEP_SCOPE_GROUP:
		skep_scopes_put(&s->of_byte[a->scope.value % SKEP_VERDICT_KEEP], bit);
		skep_scopes_put(&s->of_byte[a->scope.value % SKEP_VERDICT_KEEP + SKEP_VERDICT_KEEP], bit);
		break;
	case SKEP_SCOPE_CGROUP:
		skep_scopes_put(&s->of_cgroup, bit);
		break;
	default:
		skep_scopes_put(&s->of_pid, bit);
		break;
	}
	skep_scopes_put(&s->of_kind[a->kind % SKEP_SCOPE_KINDS], bit);
}

void skep_scopes_remove(struct skep_scopes *s, unsigned slot)
{
	__u32 bit = 1u << slot;

	for (unsigned kind = 0; kind < SKEP_SCOPE_KINDS; kind++)
		skep_scopes_take(&s->of_kind[kind], bit);
	for (unsigned byte = 0; byte < SKEP_VERDICT_EXCLUDED; byte++)
		skep_scopes_take(&s->of_byte[byte], bit);
	skep_scopes_take(&s->of_pid, bit);
	skep_scopes_take(&s->of_cgroup, bit);
}
