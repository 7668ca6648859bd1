/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs there are: the affinity, and quotas. The test writes files as the kernel has them
 * into a directory of its own.
 */
#include "wait/cpus.h"

#include "support.h"

#include <ftw.h>
#include <sys/stat.h>

static char root[64];

/* A kernel with so many CPUs, all of them allowed; 0: the real one. */
static struct {
	size_t cpus;
	int error; /* of each call; 0: of those alone whose set is too small */
	unsigned calls;
} kernel;

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
	long written = kernel.cpus ? (long)kernel.cpus / 8
	                           : syscall(SYS_sched_getaffinity, process, size, set);

	kernel.calls++;
	if (kernel.cpus && (kernel.error || (size_t)written > size)) {
		errno = kernel.error ? kernel.error : EINVAL;
		return -1;
	}
	if (written < 0)
		return -1;
	if (kernel.cpus)
		memset(set, 0xff, (size_t)written);
	memset((char *)set + written, 0, size - (size_t)written);
	return 0;
}

static void make_root(void)
{
	snprintf(root, sizeof(root), "/tmp/baton-cpus-XXXXXX");
	MUST(mkdtemp(root));
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	return remove(path);
}

static void remove_root(void)
{
	(void)nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(cpus, .init = make_root, .fini = remove_root, .timeout = 10);

static void put(const char *path, const char *content)
{
	char name[512];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *slash = strchr(name + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		MUST(mkdir(name, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(name, "w");
	MUST(file && fputs(content, file) >= 0);
	fclose(file);
}

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

Test(cpus, finds_at_least_one)
{
	cr_assert_geq(baton__cpus_allowed(), 1);
	cr_assert_geq(baton__cpus_available(""), 1);
	cr_assert_leq(baton__cpus_available(""), baton__cpus_allowed());
}

Test(cpus, follows_the_affinity_of_the_thread)
{
	cpu_set_t set;
	cpu_set_t one;

	MUST(sched_getaffinity(0, sizeof(set), &set) == 0);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &set))
			CPU_SET(i, &one);
	MUST(sched_setaffinity(0, sizeof(one), &one) == 0);
	cr_assert_eq(baton__cpus_allowed(), 1);
	cr_assert_eq(baton__cpus_available(""), 1);
}

Test(cpus, are_counted_whatever_their_number_and_one_if_that_fails)
{
	static const struct {
		size_t cpus;
		int error;
		unsigned calls;
		size_t found;
	} rows[] = {{64, 0, 1, 64},      {1024, 0, 1, 1024},
	            {1088, 0, 2, 1088},  {1 << 20, 0, 11, 1 << 20},
	            {1 << 21, 0, 11, 1}, {64, EPERM, 1, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		kernel.cpus = rows[i].cpus;
		kernel.error = rows[i].error;
		kernel.calls = 0;
		cr_expect_eq(baton__cpus_allowed(), rows[i].found, "row %zu", i);
		cr_expect_eq(kernel.calls, rows[i].calls, "row %zu", i);
	}
	kernel.cpus = 0;
}

Test(cpus, sees_no_quota_where_there_are_no_cgroups)
{
	cr_assert_eq(baton__cpus_quota(root), 0);
}

Test(cpus, reads_and_rounds_up_a_version_2_quota)
{
	put("/proc/self/mountinfo", "1 1 0:1 / /proc rw - proc proc rw\n" V2_MOUNT);
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
	cr_assert_eq(baton__cpus_quota(root), 3);
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	cr_assert_eq(baton__cpus_quota(root), 0);
}

/* No kernel writes the numbers that are not above 0. */
Test(cpus, takes_a_quota_or_a_period_that_is_not_above_0_for_none)
{
	static const struct {
		const char *line;
		size_t quota;
	} rows[] = {{"1 100000\n", 1},   {"0 100000\n", 0},  {"-1 100000\n", 0},
	            {"100000 0\n", 0},   {"100000 -1\n", 0}, {"100000 1\n", 100000},
	            {"-100000 -1\n", 0}, {"100000\n", 0},    {"", 0}};

	put("/proc/self/mountinfo", V2_MOUNT);
	put("/proc/self/cgroup", "0::/a\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		put("/sys/fs/cgroup/a/cpu.max", rows[i].line);
		cr_assert_eq(baton__cpus_quota(root), rows[i].quota, "row %zu", i);
	}
}

Test(cpus, closes_what_it_reads)
{
	int before = open_files();

	put("/proc/self/mountinfo", V2_MOUNT);
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
	cr_assert_eq(baton__cpus_quota(root), 1);
	cr_assert_eq(open_files(), before);
}

Test(cpus, takes_the_smallest_quota_on_the_way_up)
{
	put("/proc/self/mountinfo", V2_MOUNT);
	put("/proc/self/cgroup", "0::/a/b/c\n");
	put("/sys/fs/cgroup/cpu.max", "800000 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/b/c/cpu.max", "500000 100000\n");
	cr_assert_eq(baton__cpus_quota(root), 2);
}

Test(cpus, reads_a_version_1_quota_below_the_root_of_its_mount)
{
	put("/proc/self/mountinfo",
	    "31 30 0:27 /docker/x /cg/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
	    "32 30 0:28 /docker/x /cg/cpuset ro - cgroup cgroup rw,cpuset\n");
	/* No hierarchy but that of "cpu" tells where the process is. */
	put("/proc/self/cgroup", "5:cpuset:/docker/x\n4:cpu,cpuacct:/docker/x/own\n");
	put("/cg/cpu,cpuacct/own/cpu.cfs_quota_us", "150000\n");
	put("/cg/cpu,cpuacct/own/cpu.cfs_period_us", "50000\n");
	cr_assert_eq(baton__cpus_quota(root), 3);
	put("/cg/cpu,cpuacct/own/cpu.cfs_quota_us", "-1\n");
	cr_assert_eq(baton__cpus_quota(root), 0);
}

/* What the mount shows is below its root; a cgroup elsewhere is taken by its whole path. */
Test(cpus, finds_its_cgroup_below_the_root_of_the_mount)
{
	static const struct {
		const char *top, *cgroup, *quota_in;
	} rows[] = {{"/", "/a", "/a"},      {"/a", "/a/b", "/b"},         {"/a", "/a", ""},
	            {"/a", "/ab", "/ab"},   {"/a/b", "/a/b/c/d", "/c/d"}, {"/x", "/a", "/a"},
	            {"/a", "/b/a", "/b/a"}, {"/a/b", "/a", "/a"},         {"/a/bb", "/a/bb/c", ""}};
	char line[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(line, sizeof(line), "30 23 0:26 %s /cg%zu rw - cgroup2 none rw\n",
		         rows[i].top, i);
		put("/proc/self/mountinfo", line);
		snprintf(line, sizeof(line), "0::%s\n", rows[i].cgroup);
		put("/proc/self/cgroup", line);
		snprintf(line, sizeof(line), "/cg%zu%s/cpu.max", i, rows[i].quota_in);
		put(line, "700000 100000\n");
		cr_assert_eq(baton__cpus_quota(root), 7, "row %zu", i);
	}
}

Test(cpus, passes_over_lines_that_it_does_not_understand)
{
	/* Before a mount and after it: nothing is left of that one. */
	put("/proc/self/mountinfo",
	    "no separator\n - cgroup2 too short\n" V2_MOUNT "no separator\n - cgroup2 too short\n");
	put("/proc/self/cgroup", "no colon\n0::/a\n");
	put("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
	cr_assert_eq(baton__cpus_quota(root), 1);
}

Test(cpus, sees_no_quota_where_it_is_not_told_its_cgroup)
{
	put("/proc/self/mountinfo", V2_MOUNT);
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	cr_assert_eq(baton__cpus_quota(root), 0);
}

Test(cpus, the_smaller_of_quota_and_affinity_is_available)
{
	const size_t allowed = baton__cpus_allowed();
	const struct {
		size_t quota; /* 0: none */
		size_t available;
	} rows[] = {{0, allowed}, {1, 1}, {allowed, allowed}, {allowed + 1, allowed}};
	char line[64];

	put("/proc/self/mountinfo", V2_MOUNT);
	put("/proc/self/cgroup", "0::/a\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(line, sizeof(line), "%zu 100\n", rows[i].quota * 100);
		put("/sys/fs/cgroup/a/cpu.max", line);
		cr_assert_eq(baton__cpus_available(root), rows[i].available, "row %zu", i);
	}
}
