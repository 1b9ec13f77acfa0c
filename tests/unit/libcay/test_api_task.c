/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks and their setters: what is taken, what is refused and with which words; nothing is run here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "libcay/api_priv.h"

static int setup(void **state)
{
        *state = cay_task_new();
        return *state != NULL ? 0 : -1;
}

static int teardown(void **state)
{
        cay_task_free(*state);
        return 0;
}

#define assert_refused(task, call, part)                                                                     \
        do {                                                                                                 \
                assert_int_equal(call, CAY_E_INVALID);                                                       \
                if (strstr(cay_task_error(task), part) == NULL)                                              \
                        fail_msg("'%s' is not in '%s'", part, cay_task_error(task));                         \
        } while (0)

static void a_fresh_task_is_that_of_cay_run(void **state)
{
        struct cay_task *task = *state;
        const struct cay_run_options *o = cay_task_options(task);
        struct cay_limits limits = cay_limits_default_run();

        assert_string_equal(cay_task_error(task), "");
        assert_memory_equal(&o->spec.limits, &limits, sizeof(limits));
        assert_int_equal(o->spec.template_kind, CAY_TEMPLATE_HOST);
        assert_int_equal(o->spec.rootfs_fd, -1);
        assert_int_equal(o->spec.workspace_fd, -1);
        assert_int_equal(o->stdin_fd, -1);
        assert_int_equal(o->spec.may_skip, 0);
        assert_null(o->argv);
        assert_null(o->user);
        assert_int_equal(fcntl(task->cancel_fd, F_GETFD), FD_CLOEXEC);
}

static void a_command_is_copied(void **state)
{
        struct cay_task *task = *state;
        char word[] = "echo";
        const char *argv[] = { word, "a", NULL }, *other[] = { "true", NULL };

        assert_int_equal(cay_task_set_command(task, argv), 0);
        word[0] = 'X';
        argv[1] = NULL;
        assert_string_equal(cay_task_options(task)->argv[0], "echo");
        assert_string_equal(cay_task_options(task)->argv[1], "a");
        assert_null(cay_task_options(task)->argv[2]);
        assert_int_equal(cay_task_set_command(task, other), 0);
        assert_string_equal(cay_task_options(task)->argv[0], "true");
}

static void a_command_needs_a_program_and_an_end(void **state)
{
        static const char *many[8192];
        struct cay_task *task = *state;
        const char *none[] = { NULL }, *empty[] = { "", NULL }, *good[] = { "true", NULL };

        assert_int_equal(cay_task_set_command(task, good), 0);
        assert_refused(task, cay_task_set_command(task, none), "command: ");
        assert_refused(task, cay_task_set_command(task, empty), "command: ");
        for (unsigned i = 0; i + 1 < CAY_COUNT(many); i++)
                many[i] = "x";
        assert_refused(task, cay_task_set_command(task, many), "more than 4096 words");
        assert_string_equal(cay_task_options(task)->argv[0], "true"); /* the last good one stays */
}

static void variables_are_added_and_replaced(void **state)
{
        struct cay_task *task = *state;
        const struct cay_run_options *o = cay_task_options(task);

        assert_int_equal(cay_task_set_env(task, "A", "1"), 0);
        assert_int_equal(cay_task_set_env(task, "AB", ""), 0);
        assert_int_equal(cay_task_set_env(task, "A", "x=y"), 0);
        assert_string_equal(o->env[0], "A=x=y");
        assert_string_equal(o->env[1], "AB=");
        assert_null(o->env[2]);
        assert_refused(task, cay_task_set_env(task, "", "x"), "environment: ");
        assert_refused(task, cay_task_set_env(task, "A=B", "x"), "'A=B'");
        assert_null(o->env[2]);
}

static void variables_have_a_most(void **state)
{
        struct cay_task *task = *state;
        char name[16];
        int r = 0;

        for (unsigned i = 0; i < 8192 && r == 0; i++) {
                snprintf(name, sizeof(name), "V%u", i);
                r = cay_task_set_env(task, name, "x");
        }
        assert_refused(task, r, "more than 4096");
}

static void limits_by_name(void **state)
{
        struct cay_task *task = *state;
        const struct cay_limits *l = &cay_task_options(task)->spec.limits;

        assert_int_equal(cay_task_set_limit(task, "memory", "64m"), 0);
        assert_int_equal(l->memory_bytes, 64 << 20);
        assert_int_equal(cay_task_set_limit(task, "wall_time", "250ms"), 0);
        assert_int_equal(l->wall_ms, 250);
        assert_int_equal(cay_task_set_limit(task, "output", "1m:cut"), 0);
        assert_int_equal(l->output_bytes, 1 << 20);
        assert_true(l->output_cut);
        assert_int_equal(cay_task_set_limit(task, "output", "2m"), 0);
        assert_false(l->output_cut);
        assert_refused(task, cay_task_set_limit(task, "memory", "12q"), "memory: '12q' is not a size");
        assert_refused(task, cay_task_set_limit(task, "output", ":cut"), "output: ");
        assert_refused(task, cay_task_set_limit(task, "ram", "1g"), "there is no limit 'ram'");
        assert_non_null(strstr(cay_task_error(task), "wall_time"));
        assert_int_equal(l->memory_bytes, 64 << 20);
        assert_int_equal(l->output_bytes, 2 << 20);
}

/* cay.h lists the defaults: they must be what they are. */
static void documented_defaults_are_the_defaults(void **state)
{
        static const struct {
                const char *name, *value;
        } documented[] = {
                { "memory", "256m" }, { "swap", "0" },    { "cpus", "0.5" },
                { "pids", "50" },     { "disk", "64m" },  { "inodes", "16384" },
                { "files", "4096" },  { "output", "8m" }, { "wall_time", "60" },
        };
        struct cay_task *task = *state;
        struct cay_limits limits = cay_limits_default_run();

        for (unsigned i = 0; i < CAY_COUNT(documented); i++)
                assert_int_equal(cay_task_set_limit(task, documented[i].name, documented[i].value), 0);
        assert_memory_equal(&cay_task_options(task)->spec.limits, &limits, sizeof(limits));
        assert_int_equal(CAY_COUNT(documented) + 1 + 6,
                         CAY_LIMIT_NR_COUNT); /* cpu_time and networks have none */
}

static void missing_limits_by_list(void **state)
{
        struct cay_task *task = *state;
        const struct cay_spec *spec = &cay_task_options(task)->spec;

        assert_int_equal(cay_task_allow_missing(task, "memory,pids"), 0);
        assert_int_equal(spec->may_skip, CAY_LIMIT_BIT(memory_bytes) | CAY_LIMIT_BIT(pids));
        assert_refused(task, cay_task_allow_missing(task, "memory,nothing"), "allow_missing: ");
        assert_int_equal(cay_task_allow_missing(task, "all"), 0);
        assert_int_equal(spec->may_skip, CAY_LIMIT_MASK_ALL);
        assert_int_equal(cay_task_allow_missing(task, NULL), 0);
        assert_int_equal(spec->may_skip, 0);
}

static void folders_are_opened_at_once(void **state)
{
        struct cay_task *task = *state;
        struct cay_spec *spec = &cay_task_options(task)->spec;
        struct stat named, opened;
        int first;

        assert_int_equal(cay_task_set_workspace(task, "/usr", CAY_WORKSPACE_READ_WRITE), 0);
        assert_true(spec->workspace_rw);
        assert_int_equal(stat("/usr", &named), 0);
        assert_int_equal(fstat(spec->workspace_fd, &opened), 0);
        assert_int_equal(named.st_ino, opened.st_ino);
        assert_int_equal(fcntl(spec->workspace_fd, F_GETFD), FD_CLOEXEC);

        first = spec->workspace_fd;
        assert_refused(task, cay_task_set_workspace(task, "/no/such", CAY_WORKSPACE_READ_ONLY),
                       "workspace: ");
        assert_refused(task, cay_task_set_workspace(task, "/dev/null", CAY_WORKSPACE_READ_ONLY),
                       "workspace: ");
        assert_refused(task, cay_task_set_workspace(task, "/usr", 77), "no mode 77");
        assert_int_equal(spec->workspace_fd, first);
        assert_true(spec->workspace_rw);

        assert_int_equal(cay_task_set_workspace(task, "/usr", CAY_WORKSPACE_COPY), 0);
        assert_true(spec->workspace_cow && !spec->workspace_rw);
        assert_int_equal(cay_task_set_workspace(task, "/etc", CAY_WORKSPACE_READ_ONLY), 0);
        assert_false(spec->workspace_rw || spec->workspace_cow);
        assert_int_equal(cay_task_set_workspace(task, NULL, CAY_WORKSPACE_READ_ONLY), 0);
        assert_int_equal(spec->workspace_fd, -1);
}

static void changes_go_to_a_file(void **state)
{
        struct cay_task *task = *state;
        const struct cay_run_options *o = cay_task_options(task);
        int file = memfd_create("changes", MFD_CLOEXEC), fds[2];

        assert_int_equal(o->changes_fd, -1);
        assert_int_equal(cay_task_set_changes_fd(task, file), 0);
        assert_int_equal(o->changes_fd, file);
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_refused(task, cay_task_set_changes_fd(task, fds[1]), "changes: ");
        assert_refused(task, cay_task_set_changes_fd(task, 1 << 20), "changes: ");
        assert_int_equal(o->changes_fd, file);
        assert_int_equal(cay_task_set_changes_fd(task, -1), 0);
        assert_int_equal(o->changes_fd, -1);
        close(file);
        close(fds[0]);
        close(fds[1]);
}

static void templates(void **state)
{
        struct cay_task *task = *state;
        struct cay_spec *spec = &cay_task_options(task)->spec;

        assert_int_equal(cay_task_set_template(task, "/usr"), 0);
        assert_int_equal(spec->template_kind, CAY_TEMPLATE_ROOTFS);
        assert_true(spec->rootfs_fd >= 0);
        assert_refused(task, cay_task_set_template(task, "debian"), "template: ");
        assert_refused(task, cay_task_set_template(task, "/no/such"), "template: folder '/no/such'");
        assert_int_equal(spec->template_kind, CAY_TEMPLATE_ROOTFS);
        assert_int_equal(cay_task_set_template(task, "host"), 0);
        assert_int_equal(spec->template_kind, CAY_TEMPLATE_HOST);
        assert_int_equal(spec->rootfs_fd, -1);
        assert_int_equal(cay_task_set_read_only(task, 1), 0);
        assert_true(spec->options.read_only);
        assert_int_equal(cay_task_set_read_only(task, 0), 0);
        assert_false(spec->options.read_only);
}

static void texts_are_checked_and_copied(void **state)
{
        struct cay_task *task = *state;
        const struct cay_run_options *o = cay_task_options(task);
        char path[] = "/tmp";

        assert_int_equal(cay_task_set_cwd(task, path), 0);
        path[1] = 'X';
        assert_string_equal(o->cwd, "/tmp");
        assert_refused(task, cay_task_set_cwd(task, "tmp"), "cwd: 'tmp'");
        assert_string_equal(o->cwd, "/tmp");
        assert_int_equal(cay_task_set_cwd(task, NULL), 0);
        assert_null(o->cwd);

        assert_int_equal(cay_task_set_user(task, "1001:100"), 0);
        assert_refused(task, cay_task_set_user(task, "99999999"), "user: ");
        assert_string_equal(o->user, "1001:100");

        assert_int_equal(cay_task_set_id(task, "task-123"), 0);
        assert_refused(task, cay_task_set_id(task, "Task"), "id: 'Task'");
        assert_string_equal(o->spec.id, "task-123");
        assert_int_equal(cay_task_set_id(task, NULL), 0);
        assert_string_equal(o->spec.id, "");

        assert_int_equal(cay_task_set_program_dir(task, "/opt/cay"), 0);
        assert_refused(task, cay_task_set_program_dir(task, "bin"), "program_dir: ");
        assert_string_equal(o->program_dir, "/opt/cay");
}

static void input(void **state)
{
        struct cay_task *task = *state;
        const struct cay_run_options *o = cay_task_options(task);
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_int_equal(cay_task_set_stdin_fd(task, fd), 0);
        assert_int_equal(o->stdin_fd, fd);
        assert_refused(task, cay_task_set_stdin_fd(task, 1 << 20), "stdin: ");
        assert_int_equal(o->stdin_fd, fd);
        assert_int_equal(cay_task_set_stdin(task, "bytes", 5), 0);
        assert_true(o->stdin_fd >= 0 && o->stdin_fd != fd);
        assert_int_equal(fcntl(o->stdin_fd, F_GETFD), FD_CLOEXEC);
        assert_refused(task, cay_task_set_stdin(task, "", SIZE_MAX), "stdin: ");
        assert_int_equal(cay_task_set_stdin(task, NULL, 0), 0); /* empty, but there */
        assert_true(o->stdin_fd >= 0);
        assert_int_equal(cay_task_set_stdin_fd(task, -1), 0);
        assert_int_equal(o->stdin_fd, -1);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC); /* the caller's, and still open */
        close(fd);
}

static void nothing_may_be_freed(void **state)
{
        cay_task_free(NULL);
        cay_result_free(NULL);
}

static void codes_have_words(void **state)
{
        assert_string_equal(cay_version(), CAY_VERSION);
        assert_string_equal(cay_error_word(0), "ok");
        assert_string_equal(cay_error_word(CAY_E_NOT_FOUND), "not_found");
        assert_string_equal(cay_error_word(CAY_E_INTERNAL), "internal");
        for (int code = 0; code <= CAY_E_DAMAGED; code++) {
                assert_string_not_equal(cay_error_word(code), "unknown");
                assert_true(strlen(cay_error_text(code)) > 5);
                assert_string_not_equal(cay_error_text(code), "unknown");
        }
        assert_string_equal(cay_error_word(CAY_E_DAMAGED + 1), "unknown");
        assert_string_equal(cay_error_text(CAY_E_DAMAGED + 1), "unknown");
        assert_string_equal(cay_error_word(-1), "unknown");
        assert_string_equal(cay_error_text(-1), "unknown");
}

static void programs_are_looked_for_in_one_place(void **state)
{
        char dir[4096];
        struct cay_error err = { 0 };

        setenv("CAY_LIBEXEC", getenv("CAY_BUILD_DIR"), 1);
        assert_int_equal(cay_program_dir_find(dir, sizeof(dir), &err), 0);
        assert_string_equal(dir, getenv("CAY_BUILD_DIR"));
        setenv("CAY_LIBEXEC", "/no/such", 1);
        assert_int_equal(cay_program_dir_find(dir, sizeof(dir), &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        assert_non_null(strstr(err.msg, "/no/such/cay-warden"));
        setenv("CAY_LIBEXEC", "build", 1);
        assert_int_equal(cay_program_dir_find(dir, sizeof(dir), &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        setenv("CAY_LIBEXEC", "/a", 1);
        assert_int_equal(cay_program_dir_find(dir, 8, &err), -1);
        unsetenv("CAY_LIBEXEC");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                CASE(a_fresh_task_is_that_of_cay_run),
                CASE(a_command_is_copied),
                CASE(a_command_needs_a_program_and_an_end),
                CASE(variables_are_added_and_replaced),
                CASE(variables_have_a_most),
                CASE(limits_by_name),
                CASE(documented_defaults_are_the_defaults),
                CASE(missing_limits_by_list),
                CASE(folders_are_opened_at_once),
                CASE(changes_go_to_a_file),
                CASE(templates),
                CASE(texts_are_checked_and_copied),
                CASE(input),
                CASE(nothing_may_be_freed),
                CASE(codes_have_words),
                CASE(programs_are_looked_for_in_one_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
