/* SPDX-License-Identifier: Apache-2.0 */
/* The screen: exactly as it is for one machine, and never larger than a screen for any. */
#include "doctor_test.h"

#include "foundation/base/cleanup.h"
#include "cay/doctor/doctor.h"
#include "machines.h"

static char *render(const struct cay_doctor_facts *f, struct cay_doctor_style style)
{
        struct cay_doctor_report report;
        struct cay_buf out;
        char *text;

        cay_doctor_judge(f, &report);
        cay_buf_init(&out, 1u << 20);
        assert_int_equal(cay_doctor_render_text(&report, &style, &out), 0);
        text = strdup(cay_buf_data(&out));
        cay_buf_done(&out);
        return text;
}

static void test_golden(void **state)
{
        struct cay_doctor_facts f = machine_user();
        cay_auto_free char *text = NULL;

        f.limits_missing = CAY_LIMIT_BIT(pids);
        f.newgidmap.has_cap = false;
        text = render(&f, (struct cay_doctor_style){ 0 });
        assert_string_equal(
                text,
                "here        + versions          cay " CAY_VERSION
                ", Linux 6.1.0-18-amd64 x86_64, Debian GNU/Linux 12\n"
                "                                (bookworm)\n"
                "            + who and where     ordinary user ada (1000)\n"
                "            + programs          cay-init and cay-warden in /usr/lib/cay\n"
                "namespaces  + user              can be made, mapped and mounted in\n"
                "            + mount, pid, net, ipc, uts, cgroup, time: can be made\n"
                "            + /proc             a fresh one can be mounted\n"
                "            + networks          diverted by nf_tables: every program reaches what is "
                "allowed\n"
                "cgroups     + version           2\n"
                "            + controllers, delegation: memory, cpu, cpuset, pids\n"
                "confinement + landlock          ABI 2\n"
                "            + seccomp filter, seccomp notify: works\n"
                "files       + overlay           for root only; not needed\n"
                "            + overlay (userns)  works\n"
                "            + idmapped mounts   for root only; not needed\n"
                "            + disk images       for root only: disk limits are held in memory\n"
                "            + snapshots         for root only: files of a user's sandboxes are in memory\n"
                "ids         + /etc/subuid, /etc/subgid: 65536 ids, from 100000 on\n"
                "            + newuidmap         /usr/bin/newuidmap, set-user-id root\n"
                "            x newgidmap         /usr/bin/newgidmap has neither the set-id bit nor its "
                "capability\n"
                "              -> as root: chmod u+s /usr/bin/newgidmap\n"
                "docker      ! Docker            /var/run/docker.sock is not open to this user\n"
                "              -> as root: usermod -aG docker ada; members of that group have root's "
                "rights\n"
                "screens     + browser           /usr/lib/chromium/chromium\n"
                "            + desktop           /usr/bin/Xtigervnc, /usr/bin/openbox, /usr/bin/xterm\n"
                "run         x limits            enforced: memory, swap, cpus, disk, inodes, files, output,\n"
                "                                wall_time, cpu_time. Not enforced: pids\n"
                "              -> see cgroups and disk images above, or skip them: "
                "--allow-missing pids\n"
                "            + default run       works: a sandbox was made, ran /bin/true and is gone\n");
}

/* Marks and colours change no column. */
static void test_styles(void **state)
{
        struct cay_doctor_facts f = machine_user();
        cay_auto_free char *utf8 = render(&f, (struct cay_doctor_style){ .utf8 = true });
        cay_auto_free char *colours = render(&f, (struct cay_doctor_style){ .utf8 = true, .colours = true });

        assert_has(utf8, "here        ✓ versions          cay");
        assert_has(utf8, "docker      ! Docker            /var");
        assert_has(utf8, "\n              →  as root");
        assert_null(strchr(utf8, '\033'));
        assert_has(colours, "\033[1mdocker\033[0m      \033[33m!\033[0m Docker            /var");
        assert_has(colours, "\033[32m✓\033[0m");
}

static void check_size(const char *name, const struct cay_doctor_facts *f)
{
        cay_auto_free char *text = render(f, (struct cay_doctor_style){ 0 });
        unsigned lines = 0;

        for (const char *line = text; *line != '\0'; lines++) {
                size_t len = strcspn(line, "\n");

                if (len > 100)
                        fail_msg("%s: %zu columns: %.*s", name, len, (int)len, line);
                line += len + 1;
        }
        if (lines > 40)
                fail_msg("%s: %u lines:\n%s", name, lines, text);
}

static void test_size(void **state)
{
        struct cay_doctor_facts f = machine_in_docker();

        memset(f.run.msg, 'w', sizeof(f.run.msg) - 1);
        for (unsigned i = 20; i < sizeof(f.run.msg); i += 20)
                f.run.msg[i] = ' ';
        f.run.msg[sizeof(f.run.msg) - 1] = '\0';
        check_size("Docker's default", &f);
        f = machine_user();
        check_size("a person", &f);
        f.user_ns = f.seccomp = f.seccomp_notify = f.overlay_userns = f.proc = -EPERM;
        snprintf(f.proc_why, sizeof(f.proc_why), "%0100d; %0100d", 1, 2);
        for (unsigned i = 0; i < CAY_DOCTOR_NS_COUNT; i++)
                f.ns[i] = i % 2 ? -EPERM : -EINVAL;
        f.at.seccomp = true;
        f.at.container = SYS_CONTAINER_DOCKER;
        f.limits_missing = CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(cpu_milli) | CAY_LIMIT_BIT(pids);
        f.works = false;
        f.run.code = CAY_INTERNAL;
        snprintf(f.run.msg, sizeof(f.run.msg), "%0150d", 7);
        f.cgroup.writable = f.cgroup.controllers = 0;
        f.landlock = -EOPNOTSUPP;
        check_size("all at odds", &f);
}

/* What a system's own texts may hold does not reach the terminal as it is. */
static void test_control_bytes(void **state)
{
        struct cay_doctor_facts f = machine_root();
        cay_auto_free char *text = NULL;

        f.works = false;
        snprintf(f.run.msg, sizeof(f.run.msg), "bad \033[31m\x9b\x07 news");
        text = render(&f, (struct cay_doctor_style){ .utf8 = true });
        assert_has(text, "bad ?[31m?? news");
}

static void test_full_buffer(void **state)
{
        struct cay_doctor_facts f = machine_root();
        struct cay_doctor_style style = { 0 };
        struct cay_doctor_report report;
        struct cay_buf out;

        cay_doctor_judge(&f, &report);
        cay_buf_init(&out, 100);
        assert_int_equal(cay_doctor_render_text(&report, &style, &out), -ENOSPC);
        cay_buf_done(&out);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden), cmocka_unit_test(test_styles),
                                            cmocka_unit_test(test_size), cmocka_unit_test(test_control_bytes),
                                            cmocka_unit_test(test_full_buffer) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
