/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/container_argv.c - reads the arguments of container runtimes. An option that this file does not list
 * can have a value, which would pass for the image: behind such an option the image stays unknown.
 */
#include "core/identify/container_argv.h"

#include <string.h>

/* podman-run(1), podman-create(1) 4.3 and 5.x. Options without a value, then short ones, then options with one. */
#define PODMAN_FLAGS \
	" --detach --disable-content-trust --env-host --http-proxy --init --interactive --no-healthcheck --no-hosts" \
	" --no-hostname --oom-kill-disable --passwd --privileged --publish-all --quiet --read-only --read-only-tmpfs" \
	" --replace --rm --rmi --sig-proxy --tls-verify --tty "
#define PODMAN_VALUES \
	" --add-host --annotation --arch --attach --authfile --blkio-weight --blkio-weight-device --cap-add --cap-drop" \
	" --cgroup-conf --cgroup-parent --cgroupns --cgroups --cidfile --conmon-pidfile --cpu-period --cpu-quota" \
	" --cpu-rt-period --cpu-rt-runtime --cpu-shares --cpus --cpuset-cpus --cpuset-mems --decryption-key" \
	" --detach-keys --device --device-cgroup-rule --device-read-bps --device-read-iops --device-write-bps" \
	" --device-write-iops --dns --dns-option --dns-search --entrypoint --env --env-file --env-merge --expose" \
	" --gidmap --gpus --group-add --group-entry --health-cmd --health-interval --health-on-failure" \
	" --health-retries --health-start-period --health-timeout --hostname --hostuser --image-volume --init-path" \
	" --ip --ip6 --ipc --label --label-file --link-local-ip --log-driver --log-opt --mac-address --memory" \
	" --memory-reservation --memory-swap --memory-swappiness --mount --name --net --network --network-alias" \
	" --oom-score-adj --os --passwd-entry --personality --pid --pid-file --pidfile --pids-limit --platform --pod" \
	" --pod-id-file --preserve-fds --publish --pull --requires --restart --retry --retry-delay --sdnotify" \
	" --seccomp-policy --secret --security-opt --shm-size --shm-size-systemd --stop-signal --stop-timeout" \
	" --subgidname --subuidname --sysctl --systemd --timeout --tmpfs --tz --uidmap --ulimit --umask" \
	" --unsetenv --user --userns --uts --variant --volume --volumes-from --workdir "
/* Of podman itself, before the verb. */
#define PODMAN_FIRST_VALUES \
	" --cgroup-manager --cni-config-dir --config --conmon --connection --events-backend --hooks-dir --identity" \
	" --imagestore --log-level --module --network-cmd-path --network-config-dir --out --root --runroot --runtime" \
	" --runtime-flag --ssh --storage-driver --storage-opt --tmpdir --url --volumepath "
/* apptainer-exec(1) 1.3, singularity-exec(1) 3.8 */
#define APPTAINER_FLAGS \
	" --allow-setuid --cleanenv --compat --contain --containall --disable-cache --docker-login --dont-keep-fds" \
	" --fakeroot --ignore-fakeroot-command --ignore-subuid --ignore-userns --ipc --keep-privs --net --no-eval" \
	" --no-home --no-https --no-init --no-pid --no-privs --no-tmp-sandbox --no-umask --nocolor --nohttps" \
	" --no-setgroups --nv --nvccli --oom-kill-disable --passphrase --pid --quiet --rocm" \
	" --silent --sif-fuse --sharens --tmp-sandbox --underlay --unsquash --userns --uts --verbose" \
	" --writable --writable-tmpfs "
#define APPTAINER_VALUES \
	" --add-caps --app --apply-cgroups --authfile --bind --blkio-weight --blkio-weight-device --cpu-shares --cpus" \
	" --cpuset-cpus --cpuset-mems --cwd --dns --docker-host --drop-caps --env --env-file --fusemount --home" \
	" --hostname --memory --memory-reservation --memory-swap --mount --network --network-args --no-mount" \
	" --overlay --pem-path --pids-limit --pwd --runscript-timeout --scratch --security --workdir "

static const struct {
	const char *name;
	const char *verbs;               /* that start a container from an image; NULL: a monitor, which has none */
	const char *first_values;        /* options with a value before the verb */
	const char *flags, *values;      /* after it */
	const char *short_flags, *short_values;
	bool no_id;
} runtimes[] = {
	{ .name = "conmon" },
	{ .name = "podman",
	  .verbs = " run create ",
	  .first_values = PODMAN_FIRST_VALUES,
	  .flags = PODMAN_FLAGS,
	  .values = PODMAN_VALUES,
	  .short_flags = "ditPq",
	  .short_values = "acehlmpuvw" },
	{ .name = "apptainer",
	  .verbs = " exec run shell test ",
	  .first_values = " --config ",
	  .flags = APPTAINER_FLAGS,
	  .values = APPTAINER_VALUES,
	  .short_flags = "cCefipuw",
	  .short_values = "BHoSW",
	  .no_id = true },
	{ .name = "singularity",
	  .verbs = " exec run shell test ",
	  .first_values = " --config ",
	  .flags = APPTAINER_FLAGS,
	  .values = APPTAINER_VALUES,
	  .short_flags = "cCefipuw",
	  .short_values = "BHoSW",
	  .no_id = true },
	/* which apptainer executes in the same process: "Apptainer runtime parent" */
	{ .name = "starter" },
	{ .name = "starter-suid" },
};
#define N_RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

/* Index of the runtime, or N_RUNTIMES. */
static size_t find(const char *exe)
{
	const char *slash = strrchr(exe, '/');
	size_t i = 0;

	while (i < N_RUNTIMES && strcmp(runtimes[i].name, slash ? slash + 1 : exe) != 0)
		i++;
	return i;
}

bool container_argv_runtime(const char *exe)
{
	return find(exe) < N_RUNTIMES;
}

/* The next argument, without the last one if that may be cut. */
static const char *next(const struct skep_str *argv, size_t *at)
{
	const char *word = argv->ptr + *at;
	size_t len = strnlen(word, argv->len - *at);

	if (*at + len >= argv->len) /* no NUL behind it */
		return NULL;
	*at += len + 1;
	return word;
}

/* Whether a list has the word between blanks. */
static bool lists(const char *list, const char *word, size_t len)
{
	for (const char *p = list; (p = strstr(p, " ")); p++)
		if (strncmp(p + 1, word, len) == 0 && p[1 + len] == ' ')
			return len > 0;
	return false;
}

static struct skep_str text(const char *s)
{
	return (struct skep_str){ s, (uint32_t)strlen(s), (uint32_t)strlen(s) };
}

static bool read_monitor(const struct skep_str *argv, size_t at, struct container_argv *ret)
{
	const char *word, *value;

	while ((word = next(argv, &at))) {
		struct skep_str *to = strcmp(word, "-c") == 0 || strcmp(word, "--cid") == 0    ? &ret->id
				      : strcmp(word, "-n") == 0 || strcmp(word, "--name") == 0 ? &ret->name
											       : NULL;

		if (!to)
			continue;
		value = next(argv, &at);
		if (!value)
			break;
		*to = text(value);
	}
	return ret->id.len && ret->name.len;
}

/* Skips an option and its value. false: it is not listed. */
static bool skip_option(size_t runtime, const char *word, const struct skep_str *argv, size_t *at)
{
	const char *equals = strchr(word, '=');

	if (word[1] == '-') {
		if (lists(runtimes[runtime].flags, word, equals ? (size_t)(equals - word) : strlen(word)))
			return true;
		if (!lists(runtimes[runtime].values, word, equals ? (size_t)(equals - word) : strlen(word)))
			return false;
		return equals || next(argv, at);
	}
	for (const char *p = word + 1; *p; p++) {
		if (strchr(runtimes[runtime].short_values, *p)) /* "-v/a:/b", "-v" "/a:/b" */
			return p[1] || next(argv, at);
		if (!strchr(runtimes[runtime].short_flags, *p))
			return false;
	}
	return true;
}

static bool read_client(size_t runtime, const struct skep_str *argv, size_t at, struct container_argv *ret)
{
	const char *word;

	while ((word = next(argv, &at)) && word[0] == '-')
		if (lists(runtimes[runtime].first_values, word, strlen(word)) && !next(argv, &at))
			return false;
	if (word && strcmp(word, "container") == 0)
		word = next(argv, &at);
	if (!word || !lists(runtimes[runtime].verbs, word, strlen(word)))
		return false;
	while ((word = next(argv, &at)) && word[0] == '-' && word[1])
		if (!skip_option(runtime, word, argv, &at))
			return false;
	if (!word)
		return false;
	ret->image = text(word);
	ret->no_id = runtimes[runtime].no_id;
	return ret->image.len > 0;
}

bool container_argv_read(const char *exe, const struct skep_str *argv, struct container_argv *ret)
{
	size_t runtime = find(exe), at = 0;

	*ret = (struct container_argv){ 0 };
	if (runtime == N_RUNTIMES || argv->len == 0 || !next(argv, &at))
		return false;
	if (strcmp(runtimes[runtime].name, "conmon") == 0)
		return read_monitor(argv, at, ret);
	return runtimes[runtime].verbs && read_client(runtime, argv, at, ret);
}
