/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_container.c - the built-in table on the cgroup paths of runtimes and schedulers, a site's own
 * entries, and the errors of a wrong table.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "core/identify/cgroup.h"
#include "core/identify/container.h"
#include "core/identify/container_argv.h"
#include "core/identify/container_state.h"
#include "tests/unit/folder.h"

#define C1 "3f4e8a6c1d2b5a7f9e0c4b6d8a1f3e5c7b9d0a2c4e6f8b1d3a5c7e9f0b2d4a6c"
#define C2 "a0b1c2d3e4f5061728394a5b6c7d8e9f0011223344556677889900aabbccddee"
#define POD "0c7b1f7e-93a4-4b0e-9c3d-6f5e4d3c2b1a"
#define POD_ "0c7b1f7e_93a4_4b0e_9c3d_6f5e4d3c2b1a"
#define STATIC_POD "9f86d081884c7d659a2feaa0c55ad015"
#define TASK "bf1ddbfbbc8f45c9b1ac4f779368741e"
#define USER "/user.slice/user-1000.slice/user@1000.service/user.slice"

/*
 * Each as kind:by:id[:step[:task[:user]]], in the order container pod job unit slice; kinds without an id are left out.
 */
static const struct {
	const char *path, *expect;
} cases[] = {
	/* docker: cgroupfs driver, systemd driver, rootless, parents, nested */
	{ "/docker/" C1, "container:docker:" C1 },
	{ "/docker/" C1 "/system.slice/cron.service",
	  "container:docker:" C1 " unit:systemd:cron.service slice:systemd:system.slice" },
	{ "/system.slice/docker-" C1 ".scope",
	  "container:docker:" C1 " unit:systemd:docker-" C1 ".scope slice:systemd:system.slice" },
	{ USER "/docker-" C1 ".scope",
	  "container:docker:" C1 " unit:systemd:docker-" C1 ".scope slice:systemd:user.slice" },
	{ "/system.slice:docker:" C1, "container:docker:" C1 },
	{ "/mypool/" C1, "container:oci:" C1 },
	{ "/docker/" C1 "/docker/" C2, "container:docker:" C2 },
	{ "/docker/" C1 "/docker/" C2 "/init", "container:docker:" C2 },
	{ "/system.slice/docker-" C1 ".scope/system.slice/docker-" C2 ".scope",
	  "container:docker:" C2 " unit:systemd:docker-" C2 ".scope slice:systemd:system.slice" },
	{ "/docker/buildkit/5x1yv5ebzfl2bd7i3sivgpqd2", "container:buildkit:5x1yv5ebzfl2bd7i3sivgpqd2" },
	{ "/system.slice/docker.service", "unit:systemd:docker.service slice:systemd:system.slice" },
	{ "/docker", "" },
	{ "/docker/" STATIC_POD, "" }, /* too short for a container's id */
	{ "/docker/" C1 "0", "" },
	{ "/docker/3F4E8A6C1D2B5A7F9E0C4B6D8A1F3E5C7B9D0A2C4E6F8B1D3A5C7E9F0B2D4A6C", "" },

	/* containerd, nerdctl */
	{ "/default/" C1, "container:containerd:" C1 },
	{ "/k8s.io/" C1, "container:containerd:" C1 },
	{ "/default/demo", "container:containerd:demo" },
	{ "/default/demo/child", "container:containerd:demo" },
	{ "/moby/web1", "container:containerd:web1" },
	{ "/moby/" C1, "container:containerd:" C1 },
	{ "/k8s.io/probe-7", "container:containerd:probe-7" },
	{ "/default", "" },
	{ "/user.slice/default/demo", "slice:systemd:user.slice" }, /* a folder of a user's own */
	{ "/default/a b", "" },
	{ "/buildkit/5x1yv5ebzfl2bd7i3sivgpqd2", "container:buildkit:5x1yv5ebzfl2bd7i3sivgpqd2" },
	{ "/system.slice/nerdctl-" C1 ".scope",
	  "container:containerd:" C1 " unit:systemd:nerdctl-" C1 ".scope slice:systemd:system.slice" },
	{ "/system.slice/containerd.service", "unit:systemd:containerd.service slice:systemd:system.slice" },

	/* Kubernetes, cgroupfs driver: burstable, besteffort, guaranteed, static pods */
	{ "/kubepods/burstable/pod" POD "/" C1, "container:kubernetes:" C1 " pod:kubernetes:" POD },
	{ "/kubepods/besteffort/pod" POD "/" C1, "container:kubernetes:" C1 " pod:kubernetes:" POD },
	{ "/kubepods/pod" POD "/" C1, "container:kubernetes:" C1 " pod:kubernetes:" POD },
	{ "/kubepods/burstable/pod" STATIC_POD "/" C1, "container:kubernetes:" C1 " pod:kubernetes:" STATIC_POD },
	{ "/kubepods/burstable/pod" POD, "pod:kubernetes:" POD },
	{ "/kubepods/burstable/pod" POD "/crio-" C1, "container:cri-o:" C1 " pod:kubernetes:" POD },
	{ "/kubepods/burstable/pod" POD "/crio-conmon-" C1, "pod:kubernetes:" POD },
	{ "/kubepods", "" },
	{ "/kubepods/besteffort", "" },
	/* systemd driver: containerd, cri-o, docker */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/cri-containerd-" C1 ".scope",
	  "container:containerd:" C1 " pod:kubernetes:" POD " unit:systemd:cri-containerd-" C1
	  ".scope slice:systemd:kubepods-burstable-pod" POD_ ".slice" },
	{ "/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" C1 ".scope",
	  "container:containerd:" C1 " pod:kubernetes:" POD " unit:systemd:cri-containerd-" C1
	  ".scope slice:systemd:kubepods-pod" POD_ ".slice" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_ ".slice/crio-" C1 ".scope",
	  "container:cri-o:" C1 " pod:kubernetes:" POD " unit:systemd:crio-" C1
	  ".scope slice:systemd:kubepods-besteffort-pod" POD_ ".slice" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_ ".slice/crio-" C1 ".scope/container",
	  "container:cri-o:" C1 " pod:kubernetes:" POD " unit:systemd:crio-" C1
	  ".scope slice:systemd:kubepods-besteffort-pod" POD_ ".slice" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_ ".slice/crio-conmon-" C1 ".scope",
	  "pod:kubernetes:" POD " unit:systemd:crio-conmon-" C1 ".scope slice:systemd:kubepods-besteffort-pod" POD_
	  ".slice" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC_POD ".slice/docker-" C1 ".scope",
	  "container:docker:" C1 " pod:kubernetes:" STATIC_POD " unit:systemd:docker-" C1
	  ".scope slice:systemd:kubepods-burstable-pod" STATIC_POD ".slice" },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" POD_ ".slice:cri-containerd:" C1,
	  "container:containerd:" C1 " pod:kubernetes:" POD
	  " unit:systemd:containerd.service slice:systemd:system.slice" },
	{ "/kubepods.slice/kubepods-burstable.slice", "slice:systemd:kubepods-burstable.slice" },
	/* kind: a node that is a container; newer ones with a kubelet.slice */
	{ "/docker/" C1 "/kubelet/kubepods/besteffort/pod" POD "/" C2,
	  "container:kubernetes:" C2 " pod:kubernetes:" POD },
	{ "/system.slice/docker-" C1
	  ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" POD_
	  ".slice/cri-containerd-" C2 ".scope",
	  "container:containerd:" C2 " pod:kubernetes:" POD " unit:systemd:cri-containerd-" C2
	  ".scope slice:systemd:kubelet-kubepods-besteffort-pod" POD_ ".slice" },
	/* docker in a pod */
	{ "/kubepods/burstable/pod" POD "/" C1 "/docker/" C2, "container:docker:" C2 " pod:kubernetes:" POD },
	{ "/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" C1 ".scope/docker/" C2,
	  "container:docker:" C2 " pod:kubernetes:" POD " unit:systemd:cri-containerd-" C1
	  ".scope slice:systemd:kubepods-pod" POD_ ".slice" },

	/*
	 * podman: root and rootless, systemd and cgroupfs, crun's own level, pods, split; conmon belongs to no
	 * container
	 */
	{ "/machine.slice/libpod-" C1 ".scope",
	  "container:podman:" C1 " unit:systemd:libpod-" C1 ".scope slice:systemd:machine.slice" },
	{ "/machine.slice/libpod-" C1 ".scope/container",
	  "container:podman:" C1 " unit:systemd:libpod-" C1 ".scope slice:systemd:machine.slice" },
	{ "/machine.slice/libpod-conmon-" C1 ".scope",
	  "unit:systemd:libpod-conmon-" C1 ".scope slice:systemd:machine.slice" },
	{ USER "/libpod-" C1 ".scope/container",
	  "container:podman:" C1 " unit:systemd:libpod-" C1 ".scope slice:systemd:user.slice" },
	{ USER "/libpod-conmon-" C1 ".scope", "unit:systemd:libpod-conmon-" C1 ".scope slice:systemd:user.slice" },
	{ USER "/podman-6696.scope", "unit:systemd:podman-6696.scope slice:systemd:user.slice" },
	{ "/libpod_parent/libpod-" C1, "container:podman:" C1 },
	{ "/libpod_parent/libpod-" C1 "/init.scope", "container:podman:" C1 " unit:systemd:init.scope" },
	{ "/libpod_parent/conmon", "" },
	{ "/libpod_parent/" C2 "/libpod-" C1, "container:podman:" C1 " pod:podman:" C2 },
	{ "/machine.slice/machine-libpod_pod_" C2 ".slice/libpod-" C1 ".scope",
	  "container:podman:" C1 " pod:podman:" C2 " unit:systemd:libpod-" C1
	  ".scope slice:systemd:machine-libpod_pod_" C2 ".slice" },
	{ "/system.slice/web.service/libpod-payload-" C1,
	  "container:podman:" C1 " unit:systemd:web.service slice:systemd:system.slice" },
	{ "/system.slice/web.service/runtime", "unit:systemd:web.service slice:systemd:system.slice" },

	/* Amazon ECS: EC2 with cgroup v1 and v2, older uuids, cluster in the path, Fargate */
	{ "/ecs/" TASK "/" C1, "container:ecs:" C1 " pod:ecs:" TASK },
	{ "/ecs/" POD "/" C1, "container:ecs:" C1 " pod:ecs:" POD },
	{ "/ecs/prod/" TASK "/" C1, "container:ecs:" C1 " pod:ecs:" TASK },
	{ "/ecs/" TASK "/" TASK "-2531612879", "container:ecs:" TASK "-2531612879 pod:ecs:" TASK },
	{ "/ecstasks.slice/ecstasks-" TASK ".slice/docker-" C1 ".scope",
	  "container:ecs:" C1 " pod:ecs:" TASK " unit:systemd:docker-" C1 ".scope slice:systemd:ecstasks-" TASK
	  ".slice" },

	/* Garden, Mesos, one in another */
	{ "/garden/" POD, "container:garden:" POD },
	{ "/garden/good/" POD "/x", "container:garden:" POD },
	{ "/system.slice/garden/4abd7a8f-41cb-4b7d-5d1d-6b7a", "container:garden:4abd7a8f-41cb-4b7d-5d1d-6b7a slice:systemd:system.slice" },
	{ "/mesos/" POD, "container:mesos:" POD },
	{ "/mesos/" POD "/mesos/4a4e0a3c-33a9-4f5c-9d54-6e7f1c1f2a10", "container:mesos:4a4e0a3c-33a9-4f5c-9d54-6e7f1c1f2a10" },
	{ "/mesos/agent", "" },

	/* LXC, LXD, Incus, Proxmox */
	{ "/lxc/web01", "container:lxc:web01" },
	{ "/lxc/101/ns/system.slice/nginx.service",
	  "container:lxc:101 unit:systemd:nginx.service slice:systemd:system.slice" },
	{ "/lxc.payload/web01/init.scope", "container:lxc:web01 unit:systemd:init.scope" },
	{ "/lxc.payload.web01/system.slice/ssh.service",
	  "container:lxc:web01 unit:systemd:ssh.service slice:systemd:system.slice" },
	{ "/lxc.payload.user-1000_c1", "container:lxc:user-1000_c1" },
	{ "/lxc.monitor.web01", "" },
	{ "/lxc.monitor/web01", "" },
	{ "/lxc.payload.outer/lxc.payload.inner", "container:lxc:inner" },
	{ "/lxc.payload.ci/docker/" C1, "container:docker:" C1 },

	/* systemd-nspawn as a service, by machined, and its supervisor; libvirt */
	{ "/machine.slice/systemd-nspawn@web.service/payload/system.slice/ssh.service",
	  "container:systemd-nspawn:web unit:systemd:ssh.service slice:systemd:system.slice" },
	{ "/machine.slice/systemd-nspawn@web.service",
	  "container:systemd-nspawn:web unit:systemd:systemd-nspawn@web.service slice:systemd:machine.slice" },
	{ "/machine.slice/systemd-nspawn@web.service/supervisor",
	  "unit:systemd:systemd-nspawn@web.service slice:systemd:machine.slice" },
	{ "/machine.slice/machine-debian\\x2d12.scope/payload/init.scope",
	  "container:systemd-nspawn:debian-12 unit:systemd:init.scope slice:systemd:machine.slice" },
	{ "/machine.slice/machine-debian\\x2d12.scope/supervisor",
	  "unit:systemd:machine-debian\\x2d12.scope slice:systemd:machine.slice" },
	{ "/machine.slice/machine-a.scope/payload/machine.slice/machine-b.scope/supervisor",
	  "container:systemd-nspawn:a unit:systemd:machine-b.scope slice:systemd:machine.slice" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm\\x2d7.scope/libvirt/vcpu0",
	  "container:libvirt-qemu:vm-7 unit:systemd:machine-qemu\\x2d1\\x2dvm\\x2d7.scope slice:systemd:machine.slice" },
	{ "/machine.slice/machine-lxc\\x2d4711\\x2dweb.scope/libvirt",
	  "container:libvirt-lxc:web unit:systemd:machine-lxc\\x2d4711\\x2dweb.scope slice:systemd:machine.slice" },

	{ "/machine/qemu-1-vm-7.libvirt-qemu/emulator", "container:libvirt-qemu:vm-7" },
	{ "/machine/lxc-4711-web.libvirt-lxc", "container:libvirt-lxc:web" },
	{ "/firecracker/551e7604-e35c-42b3-b825-416853441234", "container:firecracker:551e7604-e35c-42b3-b825-416853441234" },

	/* Apptainer, Singularity */
	{ "/system.slice/apptainer-4711.scope",
	  "container:apptainer:apptainer-4711 unit:systemd:apptainer-4711.scope slice:systemd:system.slice" },
	{ USER "/apptainer-4711.scope",
	  "container:apptainer:apptainer-4711 unit:systemd:apptainer-4711.scope slice:systemd:user.slice" },
	{ "/apptainer/4711", "container:apptainer:4711" },
	{ USER "/singularity-99.scope",
	  "container:singularity:singularity-99 unit:systemd:singularity-99.scope slice:systemd:user.slice" },
	{ "/singularity/4711", "container:singularity:4711" },
	{ "/apptainer/x", "" },

	/* Slurm: cgroup/v1 with one and with several slurmd; cgroup/v2 */
	{ "/slurm/uid_1000/job_42/step_0/task_3", "job:slurm:42:0:3:1000" },
	{ "/slurm/uid_1000/job_42/step_batch", "job:slurm:42:batch::1000" },
	{ "/slurm/uid_1000/job_42/step_extern/task_0", "job:slurm:42:extern:0:1000" },
	{ "/slurm/uid_1000/job_42", "job:slurm:42:::1000" },
	{ "/slurm/uid_1000", "" },
	{ "/slurm_node7/uid_1000/job_42/step_interactive/task_0", "job:slurm:42:interactive:0:1000" },
	{ "/system.slice/slurmstepd.scope/job_4749/step_0/user/task_0",
	  "job:slurm:4749:0:0 unit:systemd:slurmstepd.scope slice:systemd:system.slice" },
	{ "/system.slice/slurm-worker-1_slurmstepd.scope/job_4749/step_0/user/task_12",
	  "job:slurm:4749:0:12 unit:systemd:slurm-worker-1_slurmstepd.scope slice:systemd:system.slice" },
	{ "/system.slice/slurmstepd.scope/job_4749/step_extern/slurm",
	  "job:slurm:4749:extern unit:systemd:slurmstepd.scope slice:systemd:system.slice" },
	/* Slurm 26.05: the job's SLUID */
	{ "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0",
	  "job:slurm:s5K1KKYAYG5D00:0:0 unit:systemd:slurmstepd.scope slice:systemd:system.slice" },
	{ "/system.slice/node7_slurmstepd.scope/s5K1KKYAYG5D00/step_batch/slurm",
	  "job:slurm:s5K1KKYAYG5D00:batch unit:systemd:node7_slurmstepd.scope slice:systemd:system.slice" },
	{ "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00",
	  "job:slurm:s5K1KKYAYG5D00 unit:systemd:slurmstepd.scope slice:systemd:system.slice" },
	{ "/system.slice/slurmstepd.scope/s5K1KKYAYG5DOO/step_0", /* the letter O is no such digit */
	  "unit:systemd:slurmstepd.scope slice:systemd:system.slice" },
	{ "/user.slice/s5K1KKYAYG5D00/step_0", "slice:systemd:user.slice" },
	{ "/system.slice/slurmstepd.scope/system", "unit:systemd:slurmstepd.scope slice:systemd:system.slice" },
	{ "/system.slice/slurmd.service", "unit:systemd:slurmd.service slice:systemd:system.slice" },
	{ "/slurm/uid_1000/job_42/step_0/task_0/docker/" C1, "container:docker:" C1 " job:slurm:42:0:0:1000" },
	{ "/myslurm/job_42", "" },

	/* PBS, HTCondor, Nomad */
	{ "/pbs_jobs.service/jobid/2404743.opbs", "job:pbs:2404743.opbs unit:systemd:pbs_jobs.service" },
	{ "/pbs_jobs.service/jobs/12345.gadi-pbs", "job:pbs:12345.gadi-pbs unit:systemd:pbs_jobs.service" },
	{ "/pbs_jobs.service/jobid", "unit:systemd:pbs_jobs.service" },
	{ "/htcondor/condor_var_lib_condor_execute_slot1", "job:htcondor:slot1" },
	{ "/system.slice/htcondor/condor_var_lib_condor_execute_slot1_23@node7.example.org",
	  "job:htcondor:slot1_23@node7.example.org slice:systemd:system.slice" },
	{ "/nomad.slice/share.slice/" POD ".web.scope",
	  "job:nomad:" POD ":web unit:systemd:" POD ".web.scope slice:systemd:share.slice" },

	/* systemd, and nothing */
	{ "/system.slice/ssh.service", "unit:systemd:ssh.service slice:systemd:system.slice" },
	{ "/system.slice/system-getty.slice/getty@tty1.service",
	  "unit:systemd:getty@tty1.service slice:systemd:system-getty.slice" },
	{ "/user.slice/user-1000.slice/session-3.scope", "unit:systemd:session-3.scope slice:systemd:user-1000.slice" },
	{ "/init.scope", "unit:systemd:init.scope" },
	{ "/", "" },
	{ "", "" },
	{ "//", "" },
	{ "/../../x", "" },
	{ "/process_api/6b15c62f62256ab7762598b58cbd9df4", "" },
};

static struct containers *table;

static void append(char *to, size_t room, const char *separator, const struct skep_str *s)
{
	size_t n = strlen(to);

	snprintf(to + n, room - n, "%s%.*s", separator, (int)s->len, s->ptr);
}

static void describe(const struct container *c, char *ret, size_t room)
{
	*ret = '\0';
	for (int k = 0; c && k < CONTAINER_KINDS; k++) {
		const struct container_layer *l = &c->of[k];
		const struct skep_str *parts[] = { &l->id, &l->step, &l->task, &l->user };
		struct skep_str kind = { container_kind_name((enum container_kind)k), 0, 0 };
		int last = 3;

		if (l->by.len == 0)
			continue;
		kind.len = (uint32_t)strlen(kind.ptr);
		append(ret, room, *ret ? " " : "", &kind);
		append(ret, room, ":", &l->by);
		while (last > 0 && parts[last]->len == 0)
			last--;
		for (int i = 0; i <= last; i++)
			append(ret, room, ":", parts[i]);
	}
}

static void paths(void **state)
{
	unsigned wrong = 0, n = sizeof(cases) / sizeof(cases[0]);

	(void)state;
	assert_true(n >= 60);
	for (unsigned i = 0; i < n; i++) {
		char text[1024];
		struct container *c;

		assert_int_equal(containers_find(table, cases[i].path, strlen(cases[i].path), &c), 0);
		describe(c, text, sizeof(text));
		if (strcmp(text, cases[i].expect) != 0) {
			print_error("%s\n  is     %s\n  not    %s\n", cases[i].path, cases[i].expect, text);
			wrong++;
		}
		container_free(c);
	}
	assert_int_equal(wrong, 0);
}

/* A cgroup below a container's belongs to that container, unless it is a container's itself. */
static void below(void **state)
{
	static const char *const inner[] = {
		"/init", "/system.slice/x.service", "/a/b/c/d", "/supervisorx", "/0", "/"
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned k = 0; k < sizeof(inner) / sizeof(inner[0]); k++) {
			struct container *outer, *deeper;
			char path[1024];

			if (strncmp(cases[i].expect, "container:", 10) != 0)
				continue;
			snprintf(path, sizeof(path), "%s%s", cases[i].path, inner[k]);
			assert_int_equal(containers_find(table, cases[i].path, strlen(cases[i].path), &outer), 0);
			assert_int_equal(containers_find(table, path, strlen(path), &deeper), 0);
			assert_non_null(deeper);
			if (strcmp(outer->of[0].id.ptr, deeper->of[0].id.ptr) != 0)
				fail_msg("%s: %s", path, deeper->of[0].id.ptr);
			container_free(outer);
			container_free(deeper);
		}
}

static char *table_file(const char *text)
{
	static char path[] = "/tmp/skep-containers-XXXXXX.json";
	int fd;

	strcpy(path, "/tmp/skep-containers-XXXXXX.json");
	fd = mkstemps(path, 5);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

static void own_entries(void **state)
{
	char *file = table_file(
		"{ \"cgroups\": [ // ours\n { \"container\": \"farm\", \"match\": [\"/farm/{id}\", \"docker/{id:hex64}\"] } ] }");
	const char *const more[] = { file, NULL };
	struct diag diag;
	struct containers *own;
	struct container *c;
	char text[256];

	(void)state;
	diag_init(&diag);
	own = containers_new(more, &diag);
	assert_non_null(own);
	assert_int_equal(containers_find(own, "/farm/cell-7/x", 14, &c), 0);
	describe(c, text, sizeof(text));
	assert_string_equal(text, "container:farm:cell-7");
	container_free(c);
	assert_int_equal(containers_find(own, "/docker/" C1, strlen("/docker/" C1), &c), 0); /* the later entry */
	describe(c, text, sizeof(text));
	assert_string_equal(text, "container:farm:" C1);
	container_free(c);
	containers_free(own);
	diag_clear(&diag);
	unlink(file);
}

static void wrong_tables(void **state)
{
	static const struct {
		const char *text, *expect;
	} wrong[] = {
		{ "{ \"cgroups\": [\n  { \"container\": \"x\", \"match\": [\"x-{id:hexx}\"] } ] }",
		  ":2:33: error: cgroups[0].match[0]: \"x-{id:hexx}\": character 7: no class \"hexx\"" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"x\"] } ] }", "has no capture {id}" },
		{ "{ \"cgroups\": [ { \"match\": [\"{id}\"] } ] }", "has no kind: give one of container" },
		{ "{ \"cgroups\": [ { \"pod\": \"x\", \"job\": \"y\", \"match\": [\"{id}\"] } ] }",
		  "already names a pod" },
		{ "{ \"cgroups\": [ { \"pod\": \"x\" } ] }", "has no \"match\"" },
		{ "{ \"cgroups\": [ { \"pod\": \"x\", \"match\": \"{id}\" } ] }", "give a list" },
		{ "{ \"cgroups\": [ { \"pod\": \"\", \"match\": [\"{id}\"] } ] }", "a string that is not empty" },
		{ "{ \"cgroups\": [ { \"contaner\": \"x\", \"match\": [\"{id}\"] } ] }",
		  "did you mean \"container\"?" },
		{ "{ \"cgroup\": [] }", "did you mean \"cgroups\"?" },
		{ "{ \"cgroups\": {} }", "a list" },
		{ "{ \"cgroups\": [ 5 ] }", "an object" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"path\": \"x/{id}\", \"name\": [\"/N\"] } } ] }",
		  "cgroups[0].state.path: give an absolute path with one {id}" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"path\": \"/x/{id}/../y\", \"name\": [\"/N\"] } } ] }",
		  "without \"..\"" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"path\": \"/{id}/{id}\", \"name\": [\"/N\"] } } ] }",
		  "with one {id}" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"path\": \"/{id}\", \"name\": [\"N\"] } } ] }",
		  "name[0]: is no JSON pointer" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"path\": \"/{id}\", \"image\": [\"/1\",\"/2\",\"/3\",\"/4\",\"/5\",\"/6\",\"/7\",\"/8\",\"/9\"] } } ] }",
		  "at most 8 JSON pointers" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"path\": \"/{id}\" } } ] }",
		  "names nothing" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"name\": [\"/N\"] } } ] }",
		  "has no \"path\"" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"match\": [\"{id}\"], \"state\": { \"path\": \"/{id}\", \"nam\": [\"/N\"] } } ] }",
		  "did you mean \"name\"?" },
		{ "{ \"cgroups\": [ { \"container\": \"x\", \"named\": true, \"match\": [\"{id}\"], \"state\": { \"path\": \"/{id}\", \"name\": [\"/N\"] } } ] }",
		  "only a container whose id is no name" },
		{ "{ \"cgroups\": [", ":1:" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *file = table_file(wrong[i].text), *text = NULL;
		const char *const more[] = { file, NULL };
		struct diag diag;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		diag_init(&diag);
		assert_null(containers_new(more, &diag));
		diag_print(&diag, out);
		fclose(out);
		if (!strstr(text, wrong[i].expect) || !strstr(text, file))
			fail_msg("%s\nhas the errors: %s", wrong[i].text, text);
		free(text);
		diag_clear(&diag);
		unlink(file);
	}
}

/* The cgroup table stores the container and looks it up again when the cgroup's path changes. */
static void cached(void **state)
{
	struct cgroups *c = cgroups_new("/nonexistent");
	const char *a = "/docker/" C1, *b = "/system.slice/cron.service";
	struct skep_str s = { a, (uint32_t)strlen(a), (uint32_t)strlen(a) }, id;
	const struct container *first;

	(void)state;
	cgroups_known(c, 7, &s);
	/* without a table no container is known, and nothing is stored */
	assert_int_equal(cgroups_container_id(c, 7, 0).len, 0);
	cgroups_identify(c, table);
	first = cgroups_container(c, 7, 0);
	assert_non_null(first);
	assert_ptr_equal(cgroups_container(c, 7, 0), first);
	id = cgroups_container_id(c, 7, 0);
	assert_int_equal(id.len, 64);
	assert_memory_equal(id.ptr, C1, 64);
	assert_int_equal(cgroups_container_id(c, 8, 0).len, 0);
	assert_int_equal(cgroups_container_id(c, 0, 0).len, 0);
	s = (struct skep_str){ b, (uint32_t)strlen(b), (uint32_t)strlen(b) };
	cgroups_known(c, 7, &s);
	assert_int_equal(cgroups_container_id(c, 7, 0).len, 0);
	assert_string_equal(cgroups_container(c, 7, 0)->of[CONTAINER_UNIT].id.ptr, "cron.service");
	cgroups_free(c);
}

static int setup(void **state)
{
	struct diag diag;

	(void)state;
	diag_init(&diag);
	table = containers_new(NULL, &diag);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	return table ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	table = containers_free(table);
	return 0;
}

/* ---- state files ------------------------------------------------------------------ */

/* Stands for the reader: answers when the test says so, below a folder in place of "/". */
static struct {
	char root[256], path[512], text[ENGINE_FILE_ANSWER];
	unsigned asked;
	int error;
	ssize_t len;
	void *token;
} reader;

static int read_below_root(void *arg, const struct engine_file *file, void *token)
{
	struct engine_file below = *file;

	(void)arg;
	assert_int_equal(file->uid, 0);
	below.uid = geteuid();
	snprintf(reader.path, sizeof(reader.path), "%s%s", reader.root, file->path);
	below.path = reader.path;
	reader.asked++;
	reader.token = token;
	reader.len = reader.error ? 0 : engine_file_read(&below, reader.text);
	return reader.error;
}

static void answer(void)
{
	uint32_t len = reader.len > 0 ? (uint32_t)reader.len : 0;
	const struct skep_str text = { reader.text, len, len };

	container_states_answer(reader.token, reader.len < 0 ? (int)reader.len : 0, &text);
}

/* Returns "NAME IMAGE POD NAMESPACE" of this cgroup's container, with "-" for an unknown one. */
static const char *names(struct container_states *states, const char *path, uint64_t now_ns)
{
	static char line[512];
	struct skep_str got[CONTAINER_NAMES];
	struct container *c = NULL;
	size_t n = 0;

	assert_int_equal(containers_find(table, path, strlen(path), &c), 0);
	assert_non_null(c);
	container_states_find(states, &c->of[CONTAINER_CONTAINER], now_ns, got);
	for (unsigned i = 0; i < CONTAINER_NAMES; i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", got[i].len ? got[i].ptr : "-");
	container_free(c);
	return line;
}

static void put_state(const char *folder, const char *file, const char *text)
{
	char command[600];
	FILE *f;

	snprintf(command, sizeof(command), "mkdir -p '%s/%s'", reader.root, folder);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/%s/%s", reader.root, folder, file);
	f = fopen(command, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make_root(void **state)
{
	(void)state;
	memset(&reader, 0, sizeof(reader));
	snprintf(reader.root, sizeof(reader.root), "/tmp/test_container.XXXXXX");
	return mkdtemp(reader.root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	return folder_remove(reader.root);
}

/* docker.io 20.10.24; shortened, and the names are others. */
static const char docker_state[] =
	"{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":4711},\"ID\":\"" C1 "\",\"Path\":\"sh\",\"Config\":{\"Hostname\":"
	"\"88921eea16db\",\"Env\":[\"PATH=/bin\"],\"Cmd\":[\"sh\"],\"Image\":\"busybox:1\",\"Labels\":{}},\"Image\":"
	"\"sha256:07f72a42f3d7591773826e4f3ff6f93d5205ac3c63e607b3357322f246b651e4\",\"Name\":\"/web\",\"Driver\":\"vfs\"}";
/* containerd 1.6.20 with its CRI plugin; shortened. */
static const char cri_state[] =
	"{\"ociVersion\":\"1.0.2-dev\",\"process\":{\"args\":[\"sh\"]},\"annotations\":{"
	"\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.container-type\":\"container\","
	"\"io.kubernetes.cri.image-name\":\"docker.io/library/busybox:1\",\"io.kubernetes.cri.sandbox-id\":\"" C2 "\","
	"\"io.kubernetes.cri.sandbox-name\":\"shop-7d4b\",\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
	"\"io.kubernetes.cri.sandbox-uid\":\"" POD "\"},\"linux\":{}}";
/* By nerdctl's pkg/labels, and by published files of CRI-O: Debian 12 has no package of either. */
static const char nerdctl_state[] = "{\"annotations\":{\"nerdctl/hostname\":\"x\",\"nerdctl/name\":\"bb\"}}";
static const char crio_state[] =
	"{\"annotations\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.cri-o.ImageName\":"
	"\"docker.io/library/busybox:1\",\"io.kubernetes.pod.name\":\"shop-7d4b\",\"io.kubernetes.pod.namespace\":\"shop\"}}";

/* What the files of real runtimes look like, where the built-in table looks for them. */
static void state_files(void **state)
{
	static const struct {
		const char *folder, *file, *text, *cgroup, *expect;
	} layouts[] = {
		{ "var/lib/docker/containers/" C1, "config.v2.json", docker_state, "/system.slice/docker-" C1 ".scope",
		  "web busybox:1 - -" },
		{ "run/containerd/io.containerd.runtime.v2.task/k8s.io/" C1, "config.json", cri_state,
		  "/kubepods/burstable/pod" POD "/" C1, "app docker.io/library/busybox:1 shop-7d4b shop" },
		{ "run/containerd/io.containerd.runtime.v2.task/k8s.io/" C2, "config.json", cri_state,
		  "/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" C2 ".scope",
		  "app docker.io/library/busybox:1 shop-7d4b shop" },
		{ "run/containerd/io.containerd.runtime.v2.task/default/" C1, "config.json", nerdctl_state, "/default/" C1,
		  "bb - - -" },
		{ "run/containers/storage/overlay-containers/" C1 "/userdata", "config.json", crio_state,
		  "/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" C1 ".scope",
		  "app docker.io/library/busybox:1 shop-7d4b shop" },
	};
	struct container_states *states;

	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		states = container_states_new(read_below_root, NULL);
		assert_non_null(states);
		put_state(layouts[i].folder, layouts[i].file, layouts[i].text);
		assert_string_equal(names(states, layouts[i].cgroup, 1), "- - - -");
		answer();
		assert_string_equal(names(states, layouts[i].cgroup, 2), layouts[i].expect);
		container_states_free(states);
	}
}

/* A file that comes late, a reader that is not there, and ids that would make another path. */
static void states_asked(void **state)
{
	struct container_states *states = container_states_new(read_below_root, NULL);
	struct skep_str got[CONTAINER_NAMES];
	struct container_layer layer = { .id = { "../../../../etc/shadow\0", 22, 22 } };
	const char *cgroup = "/docker/" C2;

	(void)state;
	assert_non_null(states);
	reader.asked = 0;
	assert_string_equal(names(states, cgroup, 1), "- - - -");
	assert_string_equal(names(states, cgroup, 2), "- - - -"); /* under way */
	assert_int_equal(reader.asked, 1);
	answer();
	assert_int_equal(reader.len, -ENOENT);
	put_state("var/lib/docker/containers/" C2, "config.v2.json", docker_state);
	assert_string_equal(names(states, cgroup, 900000000), "- - - -");
	assert_int_equal(reader.asked, 1);
	reader.error = -EPIPE;
	assert_string_equal(names(states, cgroup, 1100000000), "- - - -");
	assert_int_equal(reader.asked, 2);
	reader.error = 0;
	assert_string_equal(names(states, cgroup, 3000000000), "- - - -");
	assert_int_equal(reader.asked, 2);
	assert_string_equal(names(states, cgroup, 3200000000), "- - - -");
	answer();
	assert_string_equal(names(states, cgroup, 3300000000), "web busybox:1 - -");
	assert_string_equal(names(states, cgroup, 99900000000), "web busybox:1 - -");
	assert_int_equal(reader.asked, 3);
	/* a container without a state file; an id that no runtime makes */
	assert_string_equal(names(states, "/lxc/web", 1), "- - - -");
	layer.state = &(const struct container_state){ .path = (char[]){ "/x/{id}/y" }, .values = { (char[]){ "/Name" } } };
	container_states_find(states, &layer, 1, got);
	layer.id = (struct skep_str){ "", 0, 0 };
	container_states_find(states, &layer, 1, got);
	assert_int_equal(reader.asked, 3);
	container_states_free(states);
}

/* words: end in '\n' each; wanted: "ID NAME IMAGE", "-" for a missing one */
static void argv_says(const char *exe, const char *words, const char *wanted)
{
	char text[512], got[512];
	struct skep_str argv = { text, (uint32_t)strlen(words), (uint32_t)strlen(words) };
	struct container_argv said;
	bool any;

	for (size_t i = 0; i <= strlen(words); i++)
		text[i] = words[i] == '\n' ? '\0' : words[i];
	any = container_argv_read(exe, &argv, &said);
	snprintf(got, sizeof(got), "%s %s %s", said.id.ptr ? said.id.ptr : "-", said.name.ptr ? said.name.ptr : "-",
		 said.image.ptr ? said.image.ptr : "-");
	assert_string_equal(any ? got : "", wanted);
}

static void runtimes(void **state)
{
	(void)state;
	/* seen with podman 4.3.1 and conmon 2.1.6 */
	argv_says("/usr/bin/conmon", "/usr/bin/conmon\n--api-version\n1\n-c\nabc\n-u\nabc\n-r\n/usr/sbin/runc\n-b\n/x\n-n\nname\n-s\n",
		  "abc name -");
	argv_says("/usr/bin/conmon", "/usr/bin/conmon\n-c\nabc\n-n\n", "");
	argv_says("/usr/bin/conmon", "/usr/bin/conmon\n-c\nabc\n-n\ncut na", "");
	argv_says("/usr/bin/podman", "podman\nrun\n--rm\n-it\n-v\n/a:/b\n--memory=1g\n--name\nx\nimage:1\nrun\nother\n", "- - image:1");
	argv_says("/usr/bin/podman", "podman\n--root\n/x\n--log-level=debug\ncontainer\ncreate\n-p8080:80\nq/i\n", "- - q/i");
	argv_says("/usr/bin/podman", "podman\nrun\n--\n", "");
	argv_says("/usr/bin/podman", "podman\nrun\n--rootfs\n/dir\nsh\n", "");
	argv_says("/usr/bin/podman", "podman\nrun\n--of-next-year\nx\nimage\n", "");
	argv_says("/usr/bin/podman", "podman\nps\n-a\n", "");
	argv_says("/usr/bin/podman", "podman\nrun\n--name\n", "");
	argv_says("/usr/bin/apptainer", "apptainer\n--quiet\nexec\n-B\n/data\n--nv\n--cleanenv\n/images/bwa.sif\nbwa\nmem\n",
		  "- - /images/bwa.sif");
	argv_says("/usr/bin/singularity", "singularity\nrun\ndocker://alpine\n", "- - docker://alpine");
	argv_says("/usr/bin/apptainer", "apptainer\npull\nx.sif\ndocker://alpine\n", "");
	argv_says("/usr/libexec/apptainer/bin/starter", "Apptainer runtime parent\n", "");
	argv_says("/usr/bin/cat", "conmon\n-c\nabc\n-n\nname\n", "");
	argv_says("/usr/bin/conmon", "", "");
	assert_true(container_argv_runtime("/usr/libexec/apptainer/bin/starter"));
	assert_false(container_argv_runtime("/usr/bin/bash"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(below),
		cmocka_unit_test(own_entries),
		cmocka_unit_test(wrong_tables),
		cmocka_unit_test(cached),
		cmocka_unit_test(runtimes),
		cmocka_unit_test_setup_teardown(state_files, make_root, remove_root),
		cmocka_unit_test_setup_teardown(states_asked, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
