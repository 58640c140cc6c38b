/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/machine.c - the processor, its topology, the hypervisor, the firmware's names.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "identity.h"

/* Parses "model name\t: value" of the first CPU, up to the first empty line. */
void identity_cpuinfo(struct text t, struct identity_machine *m)
{
	struct text line;

	while (skep_text_line(&t, &line) && skep_text_len(line)) {
		const char *colon = memchr(line.at, ':', skep_text_len(line));
		struct text key, value;
		char *to = NULL;
		size_t size = sizeof(m->family);

		if (!colon)
			continue;
		key = skep_text_trim((struct text){ line.at, colon });
		value = skep_text_trim((struct text){ colon + 1, line.end });
		if (skep_text_is(key, "model name")) {
			to = m->model;
			size = sizeof(m->model);
		} else if (skep_text_is(key, "vendor_id") || skep_text_is(key, "CPU implementer")) {
			to = m->vendor;
			size = sizeof(m->vendor);
		} else if (skep_text_is(key, "cpu family") || skep_text_is(key, "CPU architecture")) {
			to = m->family;
		} else if (skep_text_is(key, "model") || skep_text_is(key, "CPU part")) {
			to = m->model_id;
		} else if (skep_text_is(key, "stepping") || skep_text_is(key, "CPU revision")) {
			to = m->stepping;
		} else if (skep_text_is(key, "flags")) {
			struct text word;

			while (skep_text_word(&value, &word))
				m->guest |= skep_text_is(word, "hypervisor");
		}
		if (to)
			skep_text_copy(value, to, size);
	}
}

/* CPU n is the first CPU of its core or socket: so each core and each socket counts once. */
static bool first_of(int root, unsigned n, const char *what)
{
	char path[128], list[4096];
	struct text t;
	uint64_t first;

	if (!skep_text_format(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/%s", n, what) ||
	    skep_text_line_at(root, path, list, sizeof(list)))
		return false;
	list[strcspn(list, ",-")] = '\0';
	t = skep_text_of(list);
	return skep_text_u64(&t, &first) && first == n;
}

static bool read_online(int root, char list[IDENTITY_ONLINE])
{
	return skep_text_line_at(root, "sys/devices/system/cpu/online", list, IDENTITY_ONLINE) == 0;
}

/* Visits each CPU of a list such as "0-3,8", which skep_text_list() has checked. */
static void topology(int root, struct identity_machine *m)
{
	char list[IDENTITY_ONLINE];
	struct text t;
	uint64_t nodes;

	if (!read_online(root, m->online))
		m->online[0] = '\0';
	t = skep_text_of(m->online);
	if (!skep_text_list(t, &m->cpus))
		return;
	while (t.at < t.end) {
		const char *comma = memchr(t.at, ',', skep_text_len(t));
		struct text range = { t.at, comma ? comma : t.end };
		const char *dash = memchr(range.at, '-', skep_text_len(range));
		struct text low = { range.at, dash ? dash : range.end },
			    high = { dash ? dash + 1 : range.at, range.end };
		uint64_t from, to;

		if (!skep_text_u64(&low, &from) || !skep_text_u64(&high, &to))
			break;
		for (uint64_t n = from; n <= to; n++) {
			m->cores += first_of(root, (unsigned)n, "thread_siblings_list");
			m->sockets += first_of(root, (unsigned)n, "core_siblings_list");
		}
		t.at = comma ? comma + 1 : t.end;
	}
	if (skep_text_line_at(root, "sys/devices/system/node/online", list, sizeof(list)) == 0 &&
	    skep_text_list(skep_text_of(list), &nodes))
		m->nodes = nodes;
}

#if defined(__x86_64__) || defined(__i386__)
/* cpuid: leaf 1 has a bit for "runs on a hypervisor", leaf 0x40000000 the name of the hypervisor. */
static void read_cpuid(struct identity_machine *m)
{
	static const struct {
		const char *signature, *name;
	} hypervisors[] = {
		{ "KVMKVMKVM", "kvm" },          { "Linux KVM Hv", "kvm" },    { "Microsoft Hv", "microsoft" },
		{ "VMwareVMware", "vmware" },    { "XenVMMXenVMM", "xen" },    { "TCGTCGTCGTCG", "qemu" },
		{ "bhyve bhyve ", "bhyve" },     { "VBoxVBoxVBox", "oracle" }, { "ACRNACRNACRN", "acrn" },
		{ " lrpepyh  vr", "parallels" },
	};
	unsigned a, b, c, d;
	char signature[13] = "";

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
		return;
	m->guest = true;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	for (unsigned i = 0; i < sizeof(hypervisors) / sizeof(hypervisors[0]); i++)
		if (strcmp(signature, hypervisors[i].signature) == 0)
			skep_text_copy(skep_text_of(hypervisors[i].name), m->hypervisor, sizeof(m->hypervisor));
}
#else
static void read_cpuid(struct identity_machine *m)
{
	(void)m;
}
#endif

static void hypervisor(int root, bool ask_cpu, struct identity_machine *m)
{
	char line[128];

	if (ask_cpu)
		read_cpuid(m);
	if (m->hypervisor[0])
		return;
	if (skep_text_line_at(root, "sys/hypervisor/type", m->hypervisor, sizeof(m->hypervisor)) == 0 && m->hypervisor[0])
		return;
	/* ARM and POWER: "linux,kvm" */
	if (skep_text_line_at(root, "proc/device-tree/hypervisor/compatible", line, sizeof(line)) == 0) {
		const char *comma = strchr(line, ',');

		skep_text_copy(skep_text_of(comma ? comma + 1 : line), m->hypervisor, sizeof(m->hypervisor));
	} else if (strcmp(m->hw_vendor, "QEMU") == 0) {
		skep_text_copy(skep_text_of("qemu"), m->hypervisor, sizeof(m->hypervisor));
	} else if (strcmp(m->hw_vendor, "VMware, Inc.") == 0) {
		skep_text_copy(skep_text_of("vmware"), m->hypervisor, sizeof(m->hypervisor));
	} else if (m->guest) {
		skep_text_copy(skep_text_of("unknown"), m->hypervisor, sizeof(m->hypervisor));
	}
}

/* The initial namespaces have fixed numbers (include/linux/proc_ns.h). */
static bool first_namespace(int root, const char *path, const char *first)
{
	char link[64];
	ssize_t n = readlinkat(root, path, link, sizeof(link) - 1);

	if (n < 0)
		return true;
	link[n] = '\0';
	return strcmp(link, first) == 0;
}

/* The files of container runtimes alone prove nothing: a machine's disk may be made from a container's image. */
static void container(int root, struct identity_machine *m)
{
	if (first_namespace(root, "proc/self/ns/pid", "pid:[4026531836]") &&
	    first_namespace(root, "proc/self/ns/cgroup", "cgroup:[4026531835]"))
		return;
	if (skep_text_line_at(root, "run/systemd/container", m->container, sizeof(m->container)) == 0 && m->container[0])
		return;
	m->container[0] = '\0';
	if (faccessat(root, "run/.containerenv", F_OK, 0) == 0)
		skep_text_copy(skep_text_of("podman"), m->container, sizeof(m->container));
	else if (faccessat(root, ".dockerenv", F_OK, 0) == 0)
		skep_text_copy(skep_text_of("docker"), m->container, sizeof(m->container));
}

/* 0: unknown */
static uint64_t memory(int root)
{
	char data[512];
	struct text t, line, unit;
	uint64_t kib;

	if (skep_text_head_at(root, "proc/meminfo", data, sizeof(data), &t) == 0 && skep_text_line(&t, &line) &&
	    skep_text_skip(&line, "MemTotal:") && skep_text_u64(&line, &kib) && skep_text_word(&line, &unit) && skep_text_is(unit, "kB") &&
	    kib < UINT64_MAX / 1024)
		return kib * 1024;
	return 0;
}

bool identity_machine_changed(int root, const struct identity_machine *m)
{
	uint64_t now = memory(root), differ = now > m->memory_bytes ? now - m->memory_bytes : m->memory_bytes - now;
	char online[IDENTITY_ONLINE];

	if (read_online(root, online) && strcmp(online, m->online) != 0)
		return true;
	/* hotplug and balloons move MemTotal by more; memory that the kernel frees for itself (CMA, init) by less */
	return now && differ >= m->memory_bytes / 100 && differ;
}

void identity_machine_read(int root, bool ask_cpu, struct identity_machine *ret)
{
	char data[8192]; /* the entry of one CPU has two to three thousand bytes, most of them flags */
	struct text t;

	*ret = (struct identity_machine){ 0 };
	if (skep_text_head_at(root, "proc/cpuinfo", data, sizeof(data), &t) == 0)
		identity_cpuinfo(t, ret);
	topology(root, ret);
	ret->memory_bytes = memory(root);
	if (skep_text_line_at(root, "sys/class/dmi/id/sys_vendor", ret->hw_vendor, sizeof(ret->hw_vendor)))
		ret->hw_vendor[0] = '\0';
	if (skep_text_line_at(root, "sys/class/dmi/id/product_name", ret->hw_product, sizeof(ret->hw_product)))
		ret->hw_product[0] = '\0';
	hypervisor(root, ask_cpu, ret);
	container(root, ret);
}
