// SPDX-License-Identifier: Apache-2.0
//
// falco_filters [SECONDS]: the sets of bench_rules.c for the filter engine of Falco's libraries,
// on the same processes.  Not part of the build.  Debian 12: apt-get install libfalcosecurity0-dev libtbb-dev libjsoncpp-dev, then
//   f=/usr/include/falcosecurity-libs
//   g++ -O2 -std=c++17 -I$f/userspace/libsinsp -I$f/userspace/libscap -I$f/userspace -I$f/userspace/common -I$f \
//       -I$f/driver -I/usr/include/jsoncpp tests/bench/falco_filters.cpp -o falco_filters -lsinsp -lscap
//
// It needs no driver: events are made here, with the thread that a filter asks about.  The library
// gives no way to do that but its own classes' members, hence the define.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <list>
#include <queue>
#include <functional>
#include <mutex>
#include <atomic>
#include <fstream>
#include <iostream>
#include <stdexcept>
#define HAS_FILTERING
#define HAS_CAPTURE
#define private public
#define protected public
#include <sinsp.h>
#include <filter.h>
#undef private
#undef protected

static double now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static std::string when_of(unsigned i)
{
	const std::string n = std::to_string(i);

	switch (i % 5) {
	case 0:
		return "proc.name in (a" + n + ", b" + n + ", c" + n + ", d" + n + ", tool" + n + ", e" + n + ", f" + n + ", g" + n + ") and user.uid < 2000";
	case 1:
		return "proc.exepath startswith /opt/vendor" + n + "/ or proc.exepath startswith /opt/tool" + n + "/ or proc.exepath = /usr/lib/tool" + n;
	case 2:
		return "proc.cwd glob '*/slurm*/job_" + n + "/*' and not user.uid = 0";
	case 3:
		return "proc.aname = parent" + n;
	default:
		return "proc.args contains '--tool" + n + "=' or proc.name in (tool" + n + ", tool" + n + "sort)";
	}
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
	const unsigned people = 1000;
	sinsp inspector;
	std::vector<sinsp_threadinfo *> threads;

	inspector.open_nodriver();
	// Four ancestors, as there; then the processes themselves.
	static const char *const above[4] = { "sshd", "java", "nxf", "bash" };
	for (unsigned i = 0; i < 4 + 2 * people; i++) {
		sinsp_threadinfo *t = new sinsp_threadinfo(&inspector);
		int64_t parent = 3000000 + (i < 4 ? i - 1 : 3);
		const bool none = i >= 4 + people;
		const unsigned n = none ? i - 4 - people : i - 4;
		const std::string x = i < 4 ? above[i] : (none ? "none" : "tool") + std::to_string(n);

		if (i >= 4 && n % 5 == 3) { // an ancestor of its own in the same place: bash, PARENT, java, sshd
			for (int a = 0; a < 2; a++) {
				sinsp_threadinfo *up = new sinsp_threadinfo(&inspector);

				up->m_tid = up->m_pid = 4000000 + 2 * i + a;
				up->m_ptid = a == 0 ? 3000001 : 4000000 + 2 * i;
				up->m_comm = up->m_exe = a ? "bash" : (none ? "nobody" : "parent") + std::to_string(n);
				inspector.add_thread(up);
			}
			parent = 4000000 + 2 * i + 1;
		}
		t->m_tid = t->m_pid = 3000000 + i;
		t->m_ptid = i == 0 ? 0 : parent;
		t->m_comm = x;
		t->m_exe = x;
		t->m_exepath = !none && i >= 4 && n % 5 == 1 ? "/opt/tool" + std::to_string(n) + "/bin/x" : "/usr/bin/" + x;
		t->m_args = { "--threads", "8", "/data/sample_" + std::to_string(n) + ".bam" };
		t->m_cwd = "/system.slice/slurmstepd.scope/job_" + (none ? std::string("9999999") : std::to_string(n)) + "/step_0";
		t->m_uid = 1000;
		t->m_flags = 0;
		inspector.add_thread(t);
		threads.push_back(inspector.get_thread_ref(3000000 + i, false, true).get());
	}
	for (unsigned size : { 10u, 100u, 1000u }) {
		std::vector<std::unique_ptr<sinsp_filter>> filters;

		for (unsigned i = 0; i < size; i++) {
			sinsp_filter_compiler compiler(&inspector, when_of(i));
			filters.emplace_back(compiler.compile());
		}
		for (bool none : { true, false }) {
			double best = 0;
			unsigned taken = 0;

			for (int round = 0; round < 3; round++) {
				unsigned long done = 0;
				double begin = now(), spent;
				do {
					taken = 0;
					for (unsigned p = 0; p < people; p++) {
						sinsp_evt evt;
						scap_evt raw = {};

						raw.type = PPME_SYSCALL_EXECVE_19_X;
						raw.len = sizeof(raw);
						raw.tid = (uint64_t)threads[4 + (none ? people + p : p % size)]->m_tid;
						evt.m_inspector = &inspector;
						evt.m_pevt = &raw;
						evt.m_tinfo = threads[4 + (none ? people + p : p % size)];
						for (auto &f : filters)
							if (f->run(&evt)) {
								taken++;
								break;
							}
						evt.m_pevt = NULL;
					}
					done += people;
					spent = now() - begin;
				} while (spent < seconds);
				if (round == 0 || spent * 1e9 / done < best)
					best = spent * 1e9 / done;
			}
			printf("%-24s %5u filters %10.0f ns/process %12.0f processes/s  taken %u of %u\n", none ? "none holds" : "each holds as often", size, best,
			       1e9 / best, taken, people);
		}
	}
	return 0;
}
