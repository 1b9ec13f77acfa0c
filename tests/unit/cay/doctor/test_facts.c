/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectors on this machine, short of runs: what they say must agree with what can be seen otherwise,
 * and nothing may change.
 */
#include "doctor_test.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "cay/doctor/facts_priv.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/mountinfo.h"

static struct cay_doctor_facts f;

static void collect(void)
{
        memset(&f, 0, sizeof(f));
        cay_doctor_collect_host("/nowhere::relative:/usr/bin", &f);
        cay_doctor_collect_cgroups(&f);
        cay_doctor_collect_namespaces(&f);
        cay_doctor_collect_kernel(&f);
}

static void test_here(void **state)
{
        struct utsname u;
        struct stat st;

        collect();
        assert_int_equal(uname(&u), 0);
        assert_string_equal(f.kernel, u.release);
        assert_string_equal(f.machine, u.machine);
        assert_int_equal(f.uid, geteuid());
        assert_int_equal(f.subuid.has_file, access("/etc/subuid", R_OK) == 0);
        if (stat("/usr/bin/newuidmap", &st) == 0) {
                assert_string_equal(f.newuidmap.path, "/usr/bin/newuidmap");
                assert_int_equal(f.newuidmap.set_id, st.st_uid == 0 && st.st_mode & S_ISUID);
        } else {
                assert_string_equal(f.newuidmap.path, "");
        }
        assert_true(f.landlock != 0);
        assert_int_equal(f.has_mke2fs, access("/sbin/mke2fs", X_OK) == 0);
        assert_true(f.user_ns <= 0);
        for (unsigned i = 0; i < CAY_DOCTOR_NS_COUNT; i++)
                assert_true(f.ns[i] <= 0 || f.user_ns < 0);
}

/*
 * Mounts, directory, root, children: all as before. Among mounts of our own, where we may: others mount and
 * unmount meanwhile.
 */
static void test_changes_nothing(void **state)
{
        static char before[SYS_MOUNTINFO_MAX], after[SYS_MOUNTINFO_MAX];
        struct stat tmp, tmp_after;

        if (unshare(CLONE_NEWNS) == 0)
                assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
        sys_mountinfo_read(before, sizeof(before));
        assert_int_equal(stat("/tmp", &tmp), 0);
        collect();
        sys_mountinfo_read(after, sizeof(after));
        assert_int_equal(stat("/tmp", &tmp_after), 0);
        assert_string_equal(before, after);
        assert_int_equal(tmp.st_dev, tmp_after.st_dev);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* As an ordinary user; in a child, which cannot go back. */
static void test_ordinary(void **state)
{
        int status;
        pid_t pid;

        if (geteuid() != 0)
                skip();
        pid = fork();
        if (pid == 0) {
                if (setresgid(45678, 45678, 45678) < 0 || setresuid(45678, 45678, 45678) < 0)
                        _exit(2);
                collect();
                if (f.at.privileged || f.uid != 45678 || f.subuid.ids != 0)
                        _exit(3);
                if (f.overlay != CAY_DOCTOR_UNTRIED || f.idmap != CAY_DOCTOR_UNTRIED)
                        _exit(4);
                _exit((f.overlay_userns == CAY_DOCTOR_UNTRIED) == (f.user_ns < 0) ? 0 : 5);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_here),
                                            cmocka_unit_test(test_changes_nothing),
                                            cmocka_unit_test(test_ordinary) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
