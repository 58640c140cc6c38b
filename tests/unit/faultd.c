/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault server as a child process.
 */
#include "tests/unit/faultd.h"
#include "tests/unit/folder.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *faults(void)
{
	static char path[512];
	const char *src = getenv("abs_srcdir");

	snprintf(path, sizeof(path), "%s/tests/faults", src ? src : ".");
	return path;
}

static bool certificates(const char *dir)
{
	char command[1200];

	snprintf(command, sizeof(command), "%s/certificates %s", faults(), dir);
	return system(command) == 0;
}

static void serve(const struct faultd *f, bool tls, bool client, const char *id, int in, int out)
{
	char program[600], cert[96], key[96], ca[96];
	const char *argv[16] = { "python3", program, "--log", f->log, "--id", id };
	int n = 6;

	snprintf(program, sizeof(program), "%s/faultd", faults());
	snprintf(cert, sizeof(cert), "%s/server.pem", f->dir);
	snprintf(key, sizeof(key), "%s/server.key", f->dir);
	snprintf(ca, sizeof(ca), "%s/ca.pem", f->dir);
	if (tls) {
		argv[n++] = "--cert";
		argv[n++] = cert;
		argv[n++] = "--key";
		argv[n++] = key;
	}
	if (client) {
		argv[n++] = "--client-ca";
		argv[n++] = ca;
	}
	dup2(in, 0);
	dup2(out, 1);
	execvp("python3", (char **)(uintptr_t)argv); /* which only lacks a const */
	_exit(127);
}

bool faultd_start(struct faultd *f, bool tls, bool client, const char *id)
{
	int in[2], out[2];
	char line[256] = "";
	json_t *ports;
	FILE *said;

	*f = (struct faultd){ .dir = "/tmp/faultd.XXXXXX", .in = -1 };
	if (!mkdtemp(f->dir))
		return false;
	snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	if (tls && !certificates(f->dir)) {
		puts("openssl is missing; remedy: apt-get install -y openssl");
		return false;
	}
	if (pipe(in) != 0 || pipe(out) != 0)
		return false;
	f->pid = fork();
	if (f->pid == 0) {
		close(in[1]);
		close(out[0]);
		serve(f, tls, client, id, in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	f->in = in[1];
	said = fdopen(out[0], "r");
	ports = said && fgets(line, sizeof(line), said) ? json_loads(line, 0, NULL) : NULL;
	if (said)
		fclose(said);
	if (!ports) {
		puts("faultd does not run here: it needs python3");
		return false;
	}
	f->http = (int)json_integer_value(json_object_get(ports, "http"));
	f->https = (int)json_integer_value(json_object_get(ports, "https"));
	f->blackhole = (int)json_integer_value(json_object_get(ports, "blackhole"));
	f->refuse = (int)json_integer_value(json_object_get(ports, "refuse"));
	json_decref(ports);
	return true;
}

void faultd_stop(struct faultd *f)
{
	if (f->in >= 0)
		close(f->in);
	if (f->pid > 0) {
		kill(f->pid, SIGTERM);
		waitpid(f->pid, NULL, 0);
	}
	folder_remove(f->dir);
	*f = (struct faultd){ .in = -1 };
}

json_t *faultd_log(const struct faultd *f)
{
	json_t *all = json_array(), *one;
	FILE *log = fopen(f->log, "re");

	while (log && (one = json_loadf(log, JSON_DISABLE_EOF_CHECK, NULL)))
		json_array_append_new(all, one);
	if (log)
		fclose(log);
	return all;
}

void faultd_forget(const struct faultd *f)
{
	if (truncate(f->log, 0) != 0)
		perror(f->log);
}
