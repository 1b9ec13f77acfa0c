/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node boxes' nodes are made in: in trees of ordinary files, which know no rules, only what stands in
 * them.
 */
#include "sys_test.h"

#include <sys/xattr.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/cgroup_priv.h"
#include "foundation/sys/fd.h"

#define MEMORY (1u << SYS_CGROUP_MEMORY)
#define CPU (1u << SYS_CGROUP_CPU)
#define PIDS (1u << SYS_CGROUP_PIDS)
#define CPUSET (1u << SYS_CGROUP_CPUSET)
#define ALL "cpuset cpu io memory hugetlb pids rdma misc"

static struct sys_cgroup_place place;
static const char *refused; /* the name of the node that cannot be used */
static unsigned asked;

static void write_text(const char *node, const char *file, const char *text)
{
        char path[600];

        snprintf(path, sizeof(path), "%s%s/%s", place.mount, node, file);
        unlink(path);
        assert_int_equal(sys_make_file(AT_FDCWD, path, 0644, text, strlen(text)), 0);
}

static void read_text(const char *node, const char *file, char *text, size_t size)
{
        char path[600];

        snprintf(path, sizeof(path), "%s%s/%s", place.mount, node, file);
        assert_true(sys_read_file(AT_FDCWD, path, text, size) >= 0);
}

/* node: "" is the mount's root. is_root: the real root of the hierarchy. */
static void add(const char *node, bool is_root, const char *has, const char *gives, const char *procs)
{
        char path[600];

        snprintf(path, sizeof(path), "%s%s", place.mount, node);
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        write_text(node, "cgroup.controllers", has);
        write_text(node, "cgroup.subtree_control", gives);
        write_text(node, "cgroup.procs", procs);
        if (!is_root)
                write_text(node, "cgroup.type", "domain\n");
        snprintf(place.own, sizeof(place.own), "%s", node);
}

static bool may_use(int dir)
{
        char link[64], path[600];
        ssize_t n;

        asked++;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
        n = readlink(link, path, sizeof(path) - 1);
        assert_true(n > 0);
        path[n] = 0;
        return !refused || strcmp(strrchr(path, '/') + 1, refused) != 0;
}

static void choose(struct sys_cgroup_host *host)
{
        memset(host, 0, sizeof(*host));
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                host->parent[i] = -1;
        host->ops = &sys_cgroup_v2_ops;
        asked = 0;
        sys_cgroup_v2_place(host, &place, may_use);
}

/* `node` is NULL when none is to be chosen. */
static void assert_chosen(const char *node, unsigned held)
{
        struct sys_cgroup_host host;
        char path[600] = "";

        choose(&host);
        if (node)
                snprintf(path, sizeof(path), "%s%s", place.mount, node);
        assert_string_equal(host.path[SYS_CGROUP_2], path);
        assert_int_equal(host.held, held);
        assert_true((host.parent[SYS_CGROUP_2] >= 0) == (node != NULL));
        sys_cgroup_host_close(&host);
}

static void assert_untouched(const char *node, const char *gives)
{
        char text[128];

        read_text(node, "cgroup.subtree_control", text, sizeof(text));
        assert_string_equal(text, gives);
}

static int set_up(void **state)
{
        refused = NULL;
        memset(&place, 0, sizeof(place));
        make_folder(place.mount);
        return 0;
}

static int tear_down(void **state)
{
        char command[300];

        snprintf(command, sizeof(command), "rm -r '%s'", place.mount);
        return system(command);
}

/* The real root may have processes. */
static void test_own_is_root(void **state)
{
        char text[64];

        add("", true, ALL, "", "1\n2\n");
        assert_chosen("", MEMORY | CPU | PIDS | CPUSET);
        read_text("", "cgroup.subtree_control", text, sizeof(text));
        assert_true(text[0] == '+');
}

/* A session: the processes are in a leaf, the node above has none and can be given controllers. */
static void test_parent(void **state)
{
        add("", true, ALL, ALL, "1\n");
        add("/slice", false, "cpu memory pids", "memory pids", "");
        add("/slice/scope", false, "memory pids", "", "100\n101\n");
        assert_chosen("/slice", MEMORY | CPU | PIDS);
        assert_untouched("", ALL);
        assert_untouched("/slice/scope", "");
}

/* A node of our own that is ready for it. */
static void test_own_is_ready(void **state)
{
        add("", true, ALL, ALL, "1\n");
        add("/own", false, ALL, "memory cpu pids", "");
        assert_chosen("/own", MEMORY | CPU | PIDS | CPUSET);
        assert_untouched("", ALL);
}

/* A nearer node that lacks a controller is passed over for one that has all. */
static void test_nearest_with_all(void **state)
{
        add("", true, ALL, "memory pids", "1\n");
        add("/slice", false, "memory pids", "memory pids", "");
        add("/slice/scope", false, "memory pids", "", "100\n");
        assert_chosen("", MEMORY | CPU | PIDS | CPUSET);
        assert_untouched("/slice", "memory pids");
}

static void test_most_where_none_has_all(void **state)
{
        add("", true, "memory", "memory", "1\n");
        add("/a", false, "memory pids", "", "");
        add("/a/b", false, "memory pids", "", "");
        add("/a/b/c", false, "pids", "", "");
        assert_chosen("/a/b", MEMORY | PIDS);
        assert_untouched("/a", "");
        assert_untouched("/a/b/c", "");
}

static void test_next_where_refused(void **state)
{
        add("", true, ALL, "", "1\n");
        add("/a", false, ALL, "", "");
        add("/a/b", false, ALL, "", "");
        refused = "b";
        assert_chosen("/a", MEMORY | CPU | PIDS | CPUSET);
        assert_untouched("/a/b", "");
}

static void test_all_refused(void **state)
{
        add("", false, ALL, "", "");
        refused = strrchr(place.mount, '/') + 1;
        assert_chosen(NULL, 0);
        assert_untouched("", "");
        assert_true(asked > 0);
}

/* A container's only node, with others in it: they stay where they are. What is left is a node to kill by. */
static void test_others_are_not_moved(void **state)
{
        char text[64], path[600];

        snprintf(text, sizeof(text), "%d\n1\n", (int)getpid());
        add("", false, ALL, "", text);
        assert_chosen("", 0);
        assert_untouched("", "");
        snprintf(path, sizeof(path), "%s/cay-self", place.mount);
        assert_int_equal(access(path, F_OK), -1);
        /* A process of another pid namespace is listed as 0. */
        snprintf(text, sizeof(text), "0\n%d\n", (int)getpid());
        write_text("", "cgroup.procs", text);
        assert_chosen("", 0);
        assert_int_equal(access(path, F_OK), -1);
}

/*
 * The own node with nobody but us: we would go, into a leaf; files don't take processes, so all stays as it
 * was.
 */
static void test_stepping_aside_is_undone(void **state)
{
        char text[64], path[600];

        snprintf(text, sizeof(text), "%d\n%d\n", (int)getppid(), (int)getpid());
        add("", false, ALL, "", text);
        assert_chosen("", 0);
        assert_untouched("", "");
        snprintf(path, sizeof(path), "%s/cay-self", place.mount);
        assert_int_equal(access(path, F_OK), -1);
}

/* systemd's service with Delegate=yes: the node above would do, but is not ours. */
static void test_given_away(void **state)
{
        char text[64], path[600];

        snprintf(text, sizeof(text), "%d\n", (int)getpid());
        add("", true, ALL, ALL, "1\n");
        add("/slice", false, ALL, "memory pids", "");
        add("/slice/own", false, ALL, "", text);
        add("/slice/own/cay-self", false, ALL, "", ""); /* a file that takes what is written to it */
        snprintf(place.own, sizeof(place.own), "/slice/own");
        snprintf(path, sizeof(path), "%s/slice/own", place.mount);
        if (setxattr(path, "user.delegate", "1", 1, 0) < 0)
                skip(); /* as on a tmpfs of older kernels */
        assert_chosen("/slice/own", MEMORY | CPU | PIDS | CPUSET);
        assert_untouched("/slice", "memory pids");
        read_text("/slice/own/cay-self", "cgroup.procs", path, sizeof(path));
        assert_int_equal(strtol(path, NULL, 10), getpid());
        snprintf(path, sizeof(path), "%s/slice/own", place.mount);
        assert_int_equal(removexattr(path, "user.delegate"), 0);
        write_text("/slice/own", "cgroup.subtree_control", "");
        assert_chosen("/slice", MEMORY | CPU | PIDS | CPUSET);
}

static void test_no_mount(void **state)
{
        snprintf(place.own, sizeof(place.own), "/gone");
        assert_chosen(NULL, 0);
        assert_int_equal(asked, 0);
}

static void test_controllers(void **state)
{
        cay_auto_close int dir = sys_open_at(AT_FDCWD, place.mount, O_RDONLY | O_DIRECTORY, 0);

        write_text("", "list", "cpuacct memory_ pid\n");
        assert_int_equal(sys_cgroup_v2_controllers(dir, "list"), 0);
        write_text("", "list", "  pids cpuset\ncpu memory");
        assert_int_equal(sys_cgroup_v2_controllers(dir, "list"), MEMORY | CPU | PIDS | CPUSET);
        write_text("", "list", "");
        assert_int_equal(sys_cgroup_v2_controllers(dir, "list"), 0);
        assert_int_equal(sys_cgroup_v2_controllers(dir, "absent"), 0);
}

#define in_tree(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                in_tree(test_own_is_root),
                in_tree(test_parent),
                in_tree(test_own_is_ready),
                in_tree(test_nearest_with_all),
                in_tree(test_most_where_none_has_all),
                in_tree(test_next_where_refused),
                in_tree(test_all_refused),
                in_tree(test_others_are_not_moved),
                in_tree(test_stepping_aside_is_undone),
                in_tree(test_given_away),
                in_tree(test_no_mount),
                in_tree(test_controllers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
