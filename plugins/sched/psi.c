/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/sched/psi.c - pressure stall information of the host (Documentation/accounting/psi.rst, since 4.20).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

static const char *const resources[PSI_RESOURCES] = { [PSI_CPU] = "cpu", [PSI_IO] = "io", [PSI_MEMORY] = "memory" };

static int total_of(const char *text, const char *line, uint64_t *ret)
{
	const char *at = strstr(text, line);
	const char *total = at ? strstr(at, "total=") : NULL;

	if (!total || total > strchrnul(at, '\n') || sscanf(total, "total=%" SCNu64, ret) != 1)
		return -EBADMSG;
	return 0;
}

int psi_parse(const char *text, uint64_t *ret_some_us, uint64_t *ret_full_us)
{
	uint64_t some, full = 0;
	int err = total_of(text, "some ", &some);

	if (err)
		return err;
	if (strstr(text, "full ")) {
		err = total_of(text, "full ", &full);
		if (err)
			return err;
	}
	*ret_some_us = some;
	*ret_full_us = full;
	return 0;
}

static int psi_read(int fd, uint64_t *ret_some_us, uint64_t *ret_full_us)
{
	char text[512];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return n < 0 ? -errno : -EBADMSG;
	text[n] = '\0';
	return psi_parse(text, ret_some_us, ret_full_us);
}

static void signal_of(struct skep_instance *inst, const struct sched_probe *st, int resource)
{
	char name[32], how[32];

	snprintf(name, sizeof(name), "host.pressure.%s", resources[resource]);
	snprintf(how, sizeof(how), "/proc/pressure/%s", resources[resource]);
	if (st->psi_fd[resource] >= 0)
		st->host->signal(inst, name, SKEP_SIGNAL_OK, how, NULL);
	else if (!st->opt_psi)
		st->host->signal(inst, name, SKEP_SIGNAL_OFF, how, "switched off by the option \"pressure\"");
	else
		st->host->signal(
			inst, name, SKEP_SIGNAL_MISSING, how,
			"the kernel keeps none: "
			"needs CONFIG_PSI, and psi=1 on its command line where it is off by default");
}

void psi_open(struct skep_instance *inst, struct sched_probe *st)
{
	for (int i = 0; i < PSI_RESOURCES; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/pressure/%s", resources[i]);
		st->psi_fd[i] = st->opt_psi ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (st->psi_fd[i] >= 0 && psi_read(st->psi_fd[i], &st->psi_some[i], &st->psi_full[i])) {
			/* EOPNOTSUPP: built in, but switched off (psi=0) */
			st->host->log(inst, SKEP_LOG_INFO, "%s: not readable: no pressure of this resource", path);
			close(st->psi_fd[i]);
			st->psi_fd[i] = -1;
		}
		signal_of(inst, st, i);
	}
}

void psi_sample(struct skep_instance *inst, struct sched_probe *st, uint64_t now_ns)
{
	for (int i = 0; i < PSI_RESOURCES; i++) {
		struct psi_record rec = { .resource = { resources[i], (uint32_t)strlen(resources[i]),
							(uint32_t)strlen(resources[i]) } };
		uint64_t some = 0, full = 0;

		if (st->psi_fd[i] < 0 || psi_read(st->psi_fd[i], &some, &full))
			continue;
		rec.some_ns = (some - st->psi_some[i]) * 1000;
		rec.full_ns = (full - st->psi_full[i]) * 1000;
		st->psi_some[i] = some;
		st->psi_full[i] = full;
		if (rec.some_ns)
			st->host->emit(inst, STREAM_PSI, NULL, now_ns, &rec);
	}
}

void psi_close(struct sched_probe *st)
{
	for (int i = 0; i < PSI_RESOURCES; i++) {
		if (st->psi_fd[i] >= 0)
			close(st->psi_fd[i]);
		st->psi_fd[i] = -1;
	}
}
