/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on other people's machines. */
#include "doctor_test.h"

#include "foundation/base/cleanup.h"
#include "cay/doctor/doctor.h"
#include "machines.h"

static struct cay_doctor_report report; /* of the last judge() */

static void judge(const struct cay_doctor_facts *f)
{
        cay_doctor_judge(f, &report);
}

static void is(enum cay_doctor_check nr, enum cay_doctor_status status, const char *found, const char *remedy)
{
        const struct cay_doctor_finding *f = &report.findings[nr];

        if (f->status != status)
                fail_msg("%s is %s: %s", cay_doctor_id(nr), cay_doctor_status_word(f->status), f->found);
        assert_has(f->found, found);
        if (remedy == NULL)
                assert_string_equal(f->remedy, "");
        else
                assert_has(f->remedy, remedy);
}

#define OK(id, found) is(CAY_CHECK_##id, CAY_DOCTOR_OK, found, NULL)
#define NOTE(id, found, remedy) is(CAY_CHECK_##id, CAY_DOCTOR_NOTE, found, remedy)
#define MISSING(id, found, remedy) is(CAY_CHECK_##id, CAY_DOCTOR_MISSING, found, remedy)
#define BROKEN(id, found, remedy) is(CAY_CHECK_##id, CAY_DOCTOR_BROKEN, found, remedy)

static void test_table(void **state)
{
        const char *group = "";

        for (unsigned i = 0; i < CAY_CHECK_COUNT; i++) {
                assert_true(strlen(cay_doctor_id(i)) > 0 && strlen(cay_doctor_id(i)) <= 20);
                assert_true(strlen(cay_doctor_group(i)) <= 11 && strlen(cay_doctor_title(i)) <= 17);
                assert_true(strlen(cay_doctor_doc(i)) > 0);
                for (unsigned j = 0; j < i; j++)
                        assert_string_not_equal(cay_doctor_id(i), cay_doctor_id(j));
                /* A group is one block. */
                for (unsigned j = 0; strcmp(group, cay_doctor_group(i)) != 0 && j < i; j++)
                        assert_string_not_equal(cay_doctor_group(i), cay_doctor_group(j));
                group = cay_doctor_group(i);
        }
}

static void test_root(void **state)
{
        struct cay_doctor_facts f = machine_root();

        judge(&f);
        for (unsigned i = 0; i < CAY_CHECK_COUNT; i++) {
                assert_int_equal(report.findings[i].status, CAY_DOCTOR_OK);
                assert_string_equal(report.findings[i].remedy, "");
        }
        OK(versions, "Linux 6.1.0-18-amd64 x86_64, Debian GNU/Linux 12 (bookworm)");
        OK(place, "root");
        OK(subuid, "not needed");
        OK(cgroup_version, "2");
        OK(docker, "20.10.24 (API 1.41) at /var/run/docker.sock");
        OK(limits, "enforced: memory, swap, cpus, pids, disk, inodes, files, output, wall_time, cpu_time");
}

static void test_user(void **state)
{
        struct cay_doctor_facts f = machine_user();

        judge(&f);
        OK(place, "ordinary user ada (1000)");
        OK(subuid, "65536 ids, from 100000 on");
        OK(newuidmap, "/usr/bin/newuidmap, set-user-id root");
        OK(newgidmap, "/usr/bin/newgidmap, with its capability");
        OK(cgroup_delegation, "memory, cpu, cpuset, pids");
        OK(idmap, "not needed");
        NOTE(docker, "not open to this user", "usermod -aG docker ada");
        OK(run, "works");
}

/* Whatever forbids user namespaces is named once; what follows from it has no remedy of its own. */
static void test_no_userns(void **state)
{
        static const struct {
                const char *name;
                int sysctl, apparmor, e;
                long max;
                const char *remedy;
        } rows[] = {
                { "Debian 10", 0, -1, EPERM, 63342, "sysctl -w kernel.unprivileged_userns_clone=1" },
                { "Ubuntu 24.04", 1, 1, EACCES, 63342,
                  "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" },
                { "RHEL", -1, -1, ENOSPC, 0, "sysctl -w user.max_user_namespaces=" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_doctor_facts f = machine_without_userns(-rows[i].e);

                f.at.unprivileged_clone = rows[i].sysctl;
                f.at.apparmor_userns = rows[i].apparmor;
                f.at.max_namespaces = rows[i].max;
                judge(&f);
                MISSING(user_ns, "", rows[i].remedy);
                MISSING(mount_ns, "need a user namespace first", NULL);
                MISSING(time_ns, "need a user namespace first", NULL);
                MISSING(proc, "need a user namespace first", NULL);
                MISSING(overlay_userns, "needs a user namespace first", NULL);
                NOTE(limits, "not known", NULL);
                BROKEN(run, "no user namespace can be made here", "cay run --trace");
        }
}

static void test_docker_default(void **state)
{
        struct cay_doctor_facts f = machine_in_docker();

        judge(&f);
        OK(place, "root without root's rights, in a container (Docker), under a seccomp filter");
        MISSING(user_ns, "seccomp filter",
                "--security-opt seccomp=unconfined --security-opt systempaths=unconfined");
        NOTE(cgroup_delegation, "this user may make no groups here", "--privileged");
        NOTE(landlock, "Operation not permitted", "landlock_create_ruleset");
        NOTE(seccomp_notify, "in use by the program", "nothing has to be done");
        NOTE(newuidmap, "not installed", "package uidmap");
        NOTE(subuid, "no such file", "usermod --add-subuids");
        NOTE(docker, "nothing at /var/run/docker.sock", "DOCKER_HOST");
}

static void test_masked_proc(void **state)
{
        struct cay_doctor_facts f = machine_user();

        f.proc = -EPERM;
        snprintf(f.proc_why, sizeof(f.proc_why),
                 "covered; start it with --security-opt systempaths=unconfined");
        judge(&f);
        MISSING(proc, "covered", "systempaths=unconfined");
}

static void test_places(void **state)
{
        struct cay_doctor_facts f = machine_user();

        f.at.nested = true;
        f.uid = 0;
        judge(&f);
        OK(place, "root of a user namespace");
        f.at.ids_mapped = false;
        judge(&f);
        OK(place, "without a map");
        f = machine_user();
        f.user[0] = '\0';
        f.at.chroot = true;
        f.at.container = SYS_CONTAINER_PODMAN;
        f.subuid = (struct cay_doctor_ranges){ .has_file = true };
        f.subgid.ids = 100;
        judge(&f);
        OK(place, "ordinary user 1000, in a container (podman), in a chroot");
        NOTE(subuid, "no ids for this user", "add to /etc/subuid: 1000:165536:65536");
        NOTE(subgid, "100 ids are too few", "add to /etc/subgid: 1000:165536:65536");
        f.free_ids = 0;
        judge(&f);
        NOTE(subuid, "no ids for this user", "give this user 65536 ids in /etc/subuid that nobody has");
        cay_str_copy(f.user, sizeof(f.user), "ada");
        f.free_ids = 231072;
        judge(&f);
        NOTE(subuid, "no ids for this user", "usermod --add-subuids 231072-296607 ada (a range nobody has)");
        f.user[0] = '\0';
        f.at.in_cay = true;
        judge(&f);
        NOTE(place, "inside a Cay sandbox", NULL);
        f = machine_user();
        f.at.wsl1 = true;
        judge(&f);
        NOTE(place, "under WSL 1", NULL);
}

static void test_namespaces(void **state)
{
        struct cay_doctor_facts f = machine_root();

        f.ns[CAY_DOCTOR_NS_TIME] = -EINVAL;
        f.ns[CAY_DOCTOR_NS_NET] = -EINVAL;
        f.ns[CAY_DOCTOR_NS_IPC] = -EPERM;
        f.at.seccomp = true;
        judge(&f);
        NOTE(time_ns, "not in this kernel", "CONFIG_TIME_NS=y");
        MISSING(net_ns, "not in this kernel", "CONFIG_NET_NS=y");
        MISSING(ipc_ns, "seccomp filter", "RestrictNamespaces=");
        OK(uts_ns, "can be made");
        OK(network, "nf_tables");
        f.divert = -EOPNOTSUPP;
        judge(&f);
        NOTE(network, "by a proxy", "nft_tproxy");
}

static void test_cgroups(void **state)
{
        struct cay_doctor_facts f = machine_user();

        f.cgroup.controllers = f.cgroup.writable = 1u << CAY_DOCTOR_MEMORY | 1u << CAY_DOCTOR_PIDS;
        judge(&f);
        NOTE(cgroup_controllers, "memory, pids; not cpu", "Delegate=cpu cpuset memory pids");
        NOTE(cgroup_delegation, "memory, pids; cay-init watches the rest",
             "systemd-run --user --scope -p Delegate=yes");
        f = machine_user();
        f.cgroup.version = CAY_DOCTOR_CGROUP_BOTH;
        f.cgroup.writable = 0;
        judge(&f);
        OK(cgroup_version, "1 and 2 (hybrid)");
        NOTE(cgroup_delegation, "no groups here; cay-init watches", "systemd.unified_cgroup_hierarchy=1");
        f = machine_root();
        memset(&f.cgroup, 0, sizeof(f.cgroup));
        judge(&f);
        MISSING(cgroup_version, "none is mounted", "mount -t cgroup2");
        MISSING(cgroup_controllers, "not memory, cpu, pids", NULL);
        NOTE(cgroup_delegation, "none", NULL);
        f.cgroup.version = CAY_DOCTOR_CGROUP_2;
        judge(&f);
        MISSING(cgroup_controllers, "not memory, cpu, pids", "cgroup.subtree_control");
}

static void test_kernel(void **state)
{
        struct cay_doctor_facts f = machine_root();

        f.landlock = 1;
        f.seccomp = -EINVAL;
        f.seccomp_notify = CAY_DOCTOR_UNTRIED;
        f.overlay = -ENODEV;
        f.overlay_userns = -EIO;
        f.idmap = -ENOSYS;
        f.has_mke2fs = false;
        judge(&f);
        NOTE(landlock, "ABI 1", "5.19");
        MISSING(seccomp, "Invalid argument", "CONFIG_SECCOMP_FILTER=y");
        NOTE(seccomp_notify, "needs seccomp filters", NULL);
        MISSING(overlay, "not in this kernel", "modprobe overlay");
        NOTE(overlay_userns, "cannot be made again", "6.6");
        NOTE(idmap, "not in this kernel", "5.12");
        MISSING(disk_image, "no mke2fs", "e2fsprogs");
        NOTE(snapshots, "need disk images", "see disk images");
        f.landlock = -EOPNOTSUPP;
        f.seccomp_notify = -EINVAL;
        f.overlay_userns = -EPERM;
        f.idmap = -EOPNOTSUPP;
        f.has_mke2fs = true;
        f.loop_control = -ENOENT;
        judge(&f);
        NOTE(landlock, "not switched on", "lsm=landlock,landlock,lockdown");
        NOTE(seccomp_notify, "not reported", "5.0");
        MISSING(overlay_userns, "Operation not permitted", "5.11");
        NOTE(idmap, "not on the file system of /usr", "ext4");
        MISSING(disk_image, "no loop devices", "modprobe loop");
        f.landlock = -ENOSYS;
        f.idmap = -EPERM;
        f.at.container = SYS_CONTAINER_DOCKER;
        judge(&f);
        NOTE(landlock, "not in this kernel", "CONFIG_SECURITY_LANDLOCK=y");
        f.at.seccomp = true;
        judge(&f);
        NOTE(landlock, "Function not implemented", "landlock_create_ruleset");
        NOTE(idmap, "Operation not permitted", "mount_setattr");
        MISSING(disk_image, "no loop devices", "--device /dev/loop-control");
        f.loop_control = 0;
        f.layer_pool = -ENOENT;
        judge(&f);
        NOTE(snapshots, "they copy blocks", "xfsprogs");
        f.layer_pool = -ENODEV;
        judge(&f);
        NOTE(snapshots, "no XFS in this kernel", "modprobe xfs");
}

static void test_helpers(void **state)
{
        struct cay_doctor_facts f = machine_user();

        f.newuidmap.set_id = false;
        f.newgidmap.nosuid = true;
        judge(&f);
        BROKEN(newuidmap, "neither the set-id bit", "chmod u+s /usr/bin/newuidmap");
        BROKEN(newgidmap, "nosuid", "without nosuid");
        f.at.nested = true;
        f.newgidmap.nosuid = false;
        f.no_new_privs = true;
        judge(&f);
        NOTE(newuidmap, "cannot act in this user namespace", "outside");
        BROKEN(newgidmap, "no_new_privs", "no-new-privileges");
        snprintf(f.newuidmap.path, sizeof(f.newuidmap.path), "/run/wrappers/bin/newuidmap");
        judge(&f);
        NOTE(newuidmap, "not where Cay looks", "ln -s /run/wrappers/bin/newuidmap /usr/bin/");
}

static void test_screens(void **state)
{
        struct cay_doctor_facts f = machine_root();

        judge(&f);
        OK(browser, "/usr/lib/chromium/chromium");
        OK(desktop, "/usr/bin/Xtigervnc, /usr/bin/openbox, /usr/bin/xterm");
        f.desktop_terminal[0] = '\0';
        judge(&f);
        NOTE(desktop, "no terminal", "--no-install-recommends xterm");
        f.desktop_manager[0] = '\0';
        judge(&f);
        NOTE(desktop, "no window manager", "--no-install-recommends openbox");
        f.desktop_server[0] = f.browser[0] = '\0';
        judge(&f);
        NOTE(desktop, "no Xvnc", "tigervnc-standalone-server openbox xterm");
        NOTE(browser, "no Chromium", "chromium-headless-shell");
}

static void test_docker(void **state)
{
        struct cay_doctor_facts f = machine_root();
        struct cay_docker *d = &f.docker;

        d->asked_for = true;
        snprintf(d->where, sizeof(d->where), "tcp://dead:1");
        d->state = CAY_DOCKER_DEAD;
        d->sys = -ECONNREFUSED;
        judge(&f);
        BROKEN(docker, "no answer at tcp://dead:1: Connection refused", "unset DOCKER_HOST");
        d->state = CAY_DOCKER_ODD;
        judge(&f);
        BROKEN(docker, "not Docker", "DOCKER_HOST");
        d->state = CAY_DOCKER_UNKNOWN;
        judge(&f);
        NOTE(docker, "neither unix:// nor tcp://", "tcp://HOST:PORT");
        d->state = CAY_DOCKER_ABSENT;
        judge(&f);
        BROKEN(docker, "nothing at tcp://dead:1", "unset DOCKER_HOST");
        d->state = CAY_DOCKER_ANSWERS;
        d->api[0] = '\0';
        judge(&f);
        OK(docker, "20.10.24 at tcp://dead:1");
}

static void test_limits(void **state)
{
        struct cay_doctor_facts f = machine_root();

        f.limits_missing = CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(swap_bytes) | CAY_LIMIT_BIT(pids);
        judge(&f);
        MISSING(limits,
                "enforced: cpus, disk, inodes, files, output, wall_time, cpu_time. Not enforced: memory, "
                "swap, pids",
                "--allow-missing memory,swap,pids");
        f.works = false;
        judge(&f);
        BROKEN(run, "", "--allow-missing");
        f = machine_user();
        f.limits_watched = CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(pids);
        judge(&f);
        OK(limits, "enforced: swap, cpus, disk, inodes, files, output, wall_time, cpu_time. "
                   "Watched (may be exceeded for a moment): memory, pids");
}

static void test_programs(void **state)
{
        struct cay_doctor_facts f = machine_root();

        cay_fail(&f.programs, CAY_UNAVAILABLE, "cay-init is neither here nor there");
        f.run = f.programs;
        f.works = false;
        judge(&f);
        MISSING(programs, "neither here nor there", "make install");
        BROKEN(run, "neither here nor there", "fix what is marked");
}

/* Nothing that is missing goes without a remedy, unless it follows from something that has one. */
static void test_remedies(void **state)
{
        static const int results[] = { -EPERM, -EACCES, -ENOSYS,    -EINVAL, -ENOSPC,
                                       -EIO,   -ENODEV, -ETIMEDOUT, -ECHILD };

        for (unsigned i = 0; i < CAY_COUNT(results); i++) {
                struct cay_doctor_facts f = machine_root();

                for (unsigned j = 0; j < CAY_DOCTOR_NS_COUNT; j++)
                        f.ns[j] = results[i];
                f.user_ns = f.landlock = f.seccomp = f.seccomp_notify = results[i];
                f.overlay = f.overlay_userns = f.idmap = f.loop_control = results[i];
                judge(&f);
                for (unsigned j = 0; j < CAY_CHECK_COUNT; j++) {
                        const struct cay_doctor_finding *x = &report.findings[j];

                        if (x->status != CAY_DOCTOR_OK && x->remedy[0] == '\0')
                                fail_msg("%s, errno %d: no remedy for: %s", cay_doctor_id(j), -results[i],
                                         x->found);
                        if (x->found[0] == '\0')
                                fail_msg("%s, errno %d: nothing found", cay_doctor_id(j), -results[i]);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),          cmocka_unit_test(test_root),
                cmocka_unit_test(test_user),           cmocka_unit_test(test_no_userns),
                cmocka_unit_test(test_docker_default), cmocka_unit_test(test_masked_proc),
                cmocka_unit_test(test_places),         cmocka_unit_test(test_namespaces),
                cmocka_unit_test(test_cgroups),        cmocka_unit_test(test_kernel),
                cmocka_unit_test(test_helpers),        cmocka_unit_test(test_screens),
                cmocka_unit_test(test_docker),         cmocka_unit_test(test_limits),
                cmocka_unit_test(test_programs),       cmocka_unit_test(test_remedies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
