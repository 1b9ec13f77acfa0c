/* SPDX-License-Identifier: Apache-2.0 */
/* The files that are bound over /proc: how many processors they tell of, and who can write what. */
#include "unit/foundation/sys/sys_test.h"

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "cay-warden/proc_overlay.h"

static char text[8 << 20];

static unsigned count_lines(const char *key)
{
        size_t len = strlen(key);
        unsigned count = 0;

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, key, len) == 0 && strchr("\t :", line[len]))
                        count++;
        }
        return count;
}

/* The n-th line that starts with key: its number. */
static long value(const char *key, unsigned n)
{
        size_t len = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, key, len) == 0 && strchr("\t :", line[len]) && n-- == 0)
                        return strtol(strchr(line, ':') + 1, NULL, 10);
        }
        return -1;
}

static void read_cpuinfo(const struct cay_proc_overlay *t)
{
        check(sys_read_file(t->mount, "cpuinfo", text, sizeof(text)) > 0);
}

static void counts(void)
{
        static const uint32_t cpus[] = { 1, 2, 3, 64, 1024 };

        for (unsigned i = 0; i < CAY_COUNT(cpus); i++) {
                struct cay_proc_overlay t;

                check(cay_proc_overlay_make(&t, 1, cpus[i]) == 0);
                read_cpuinfo(&t);
                check(count_lines("processor") == cpus[i]);
                for (unsigned n = 0; n < cpus[i]; n++)
                        check(value("processor", n) == (long)n);
                check(strlen(text) > 2 && strcmp(text + strlen(text) - 2, "\n\n") == 0);
#ifdef __x86_64__
                check(count_lines("siblings") == cpus[i] && count_lines("core id") == cpus[i]);
                check(value("siblings", 0) == (long)cpus[i] &&
                      value("cpu cores", cpus[i] - 1) == (long)cpus[i]);
                check(value("core id", cpus[i] - 1) == (long)cpus[i] - 1);
                check(value("apicid", 0) == 0 && value("initial apicid", cpus[i] - 1) == (long)cpus[i] - 1);
                check(count_lines("flags") == cpus[i] && count_lines("model name") == cpus[i]);
#endif
                cay_proc_overlay_done(&t);
        }
}

static void test_counts(void **state)
{
        need_root();
        in_child(counts);
}

/* What does not count processors is the host's own word. */
static void rest_is_true(void)
{
        static char host[65536];
        struct cay_proc_overlay t;
        const char *flags, *end;

        check(cay_proc_overlay_make(&t, 0, 2) == 0);
        read_cpuinfo(&t);
        check(sys_read_file(AT_FDCWD, "/proc/cpuinfo", host, sizeof(host)) > 0);
        flags = strstr(host, "\nflags");
        if (!flags)
                skip_child("no flags in this machine's cpuinfo");
        end = strchr(flags + 1, '\n');
        check(end && memmem(text, strlen(text), flags, (size_t)(end - flags)));
        cay_proc_overlay_done(&t);
}

static void test_rest_is_true(void **state)
{
        need_root();
        in_child(rest_is_true);
}

static void files(void)
{
        unsigned before = count_fds();
        struct cay_proc_overlay t;
        struct stat st;

        check(cay_proc_overlay_make(&t, 1, 1) == 0);
        check(t.meminfo >= 0 && t.stat >= 0 && t.loadavg >= 0 && t.mount >= 0);
        /*
         * Written through the descriptors, read through the mount; the box makes its copy read-only (attack
         * suite).
         */
        check(sys_write_all(t.meminfo, "MemTotal: 1 kB\n", 15) == 0);
        check(sys_read_file(t.mount, "meminfo", text, sizeof(text)) == 15);
        check(fstatat(t.mount, "empty", &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_size == 0);
        check((st.st_mode & 0222) == 0);
        check(fstatat(t.mount, "void", &st, 0) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0222) == 0);
        cay_proc_overlay_done(&t);
        check(t.mount == -1 && t.meminfo == -1 && t.stat == -1 && t.loadavg == -1);
        cay_proc_overlay_done(&t);
        check(count_fds() == before);
}

static void test_files(void **state)
{
        need_root();
        in_child(files);
}

/* Figures that the kernel's own file has right are not replaced. */
static void only_what_differs(void)
{
        struct cay_proc_overlay t;

        check(cay_proc_overlay_make(&t, 0, 0) == 0);
        check(t.meminfo == -1 && t.stat == -1 && t.loadavg >= 0);
        check(faccessat(t.mount, "meminfo", F_OK, 0) < 0 && faccessat(t.mount, "stat", F_OK, 0) < 0);
        check(faccessat(t.mount, "cpuinfo", F_OK, 0) < 0);
        cay_proc_overlay_done(&t);
}

static void test_only_what_differs(void **state)
{
        need_root();
        in_child(only_what_differs);
}

static void without_rights(void)
{
        unsigned before = count_fds();
        struct cay_proc_overlay t;

        check(setgid(65534) == 0 && setuid(65534) == 0);
        check(cay_proc_overlay_make(&t, 1, 1) == -EPERM);
        check(t.mount == -1);
        check(count_fds() == before);
}

static void test_without_rights(void **state)
{
        need_root();
        in_child(without_rights);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_counts),         cmocka_unit_test(test_rest_is_true),
                cmocka_unit_test(test_files),          cmocka_unit_test(test_only_what_differs),
                cmocka_unit_test(test_without_rights),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
