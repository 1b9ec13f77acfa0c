/* SPDX-License-Identifier: Apache-2.0 */
/* `cay doctor`: what works on this machine, what does not, and what to do about it. */
#include <errno.h>
#include <limits.h>
#include <strings.h>
#include <unistd.h>

#include "foundation/base/json_out.h"
#include "cay/cli/args_flags.h"
#include "cay/cli/cli.h"
#include "cay/cli/programs.h"
#include "cay/cli/reach.h"
#include "cay/cli/run_args.h"
#include "cay/cli/table.h"
#include "cay/doctor/doctor.h"
#include "libcay/run.h"
#include "foundation/sys/fd.h"

#define OUTPUT_MAX (256u << 10)
#define ASK_MS 10000

enum { WORKS = 0, WORKS_NOT = 1 };

struct args {
        bool json;
        struct cay_reach_args reach;
};

static const struct cay_flag table[] = {
        { "json", NULL, "print one JSON object", cay_flag_set_true, offsetof(struct args, json) },
        { "data", "DIR", "also ask the daemon of this data folder if it is ready", cay_flag_set_text,
          offsetof(struct args, reach.data) },
        {},
};

static void print_help(void)
{
        printf("usage: cay doctor [--json] [--data DIR]\n\n"
               "Checks what Cay can use on this machine, what it cannot use, and how to fix that. Checks "
               "that could\n"
               "change something run in short-lived processes; nothing is left.\n\n");
        cay_flags_print(table, stdout);
        printf("\nThe JSON has works, checks (id, group, status, found, remedy), limits and versions. A "
               "status is ok,\n"
               "note (Cay works without it), missing or broken. The checks by id:\n\n");
        for (unsigned i = 0; i < CAY_CHECK_COUNT; i++)
                printf("  %-20s %s\n", cay_doctor_id(i), cay_doctor_doc(i));
        printf("With --data the JSON also has daemon: ready, and its answer or the error.\n"
               "\nExit status: 0 the default run works (and the daemon is ready), 1 it does not, 2 wrong "
               "usage.\n");
}

static bool ends_utf8(const char *locale)
{
        const char *dot = locale != NULL ? strchr(locale, '.') : NULL;

        return dot != NULL && (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
}

static const char *first_set(const char *const *names)
{
        for (; *names != NULL; names++) {
                const char *value = getenv(*names);

                if (value != NULL && value[0] != '\0')
                        return value;
        }
        return NULL;
}

static struct cay_doctor_style find_style(void)
{
        static const char *const locales[] = { "LC_ALL", "LC_CTYPE", "LANG", NULL };
        const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
        bool is_tty = isatty(STDOUT_FILENO), is_dumb = term == NULL || strcmp(term, "dumb") == 0;

        return (struct cay_doctor_style){
                .utf8 = is_tty && ends_utf8(first_set(locales)),
                .colours = is_tty && !is_dumb && (no_color == NULL || no_color[0] == '\0'),
        };
}

/* The default run is exactly `cay run -- /bin/true`. */
static int collect(struct cay_doctor_facts *facts, struct cay_error *err)
{
        char *words[] = { (char *)"run", (char *)"--", (char *)"/bin/true", NULL };
        char program_dir[PATH_MAX] = "";
        struct cay_error programs = { 0 };
        struct cay_run_options run;
        struct cay_run_args args;
        struct cay_doctor_options o = {
                .run = &run,
                .programs = &programs,
                .docker_host = getenv("DOCKER_HOST"),
                .path = getenv("PATH"),
        };

        if (cay_run_args_read(&args, 3, words, err) < 0)
                return -1;
        cay_run_args_fill(&args, &run);
        if (cay_cli_find_programs(program_dir, sizeof(program_dir), &programs) < 0)
                program_dir[0] = '\0';
        run.program_dir = program_dir;
        cay_doctor_collect(&o, facts);
        cay_run_args_done(&args);
        return 0;
}

/* Whether the daemon says that it can make sandboxes. */
struct daemon {
        bool is_ready;
        struct cay_reach_answer answer;
        struct cay_error err;
};

static void ask_daemon(const struct args *a, struct daemon *ret)
{
        cay_auto_values struct cay_values v = { 0 };
        struct cay_reach reach = { 0 };
        char word[CAY_CELL_MAX] = "";

        cay_values_init(&v, cay_cli_op_find("health_ready"));
        if (cay_reach_open(&reach, &a->reach, &ret->err) < 0 ||
            cay_reach_call(&reach, &v, -1, ASK_MS, &ret->answer, &ret->err) < 0)
                return;
        cay_json_view_copy(cay_json_view_find(ret->answer.json, "status"), word, sizeof(word));
        ret->is_ready = strcmp(word, "ready") == 0 || strcmp(word, "ok") == 0;
}

static int put_daemon_text(const struct args *a, const struct daemon *d, struct cay_buf *out)
{
        char engine[CAY_CELL_MAX] = "";

        if (d->err.code != CAY_OK)
                return cay_buf_printf(out, "\ndaemon of %s: does not answer: %s\n", a->reach.data,
                                      d->err.msg);
        cay_json_view_copy(cay_json_view_find(d->answer.json, "engine"), engine, sizeof(engine));
        return cay_buf_printf(out, "\ndaemon of %s: %s%s%s\n", a->reach.data,
                              d->is_ready ? "ready" : "not ready", engine[0] != '\0' ? ", engine " : "",
                              engine);
}

/* Adds one member to the existing object. */
static int put_daemon_json(const struct daemon *d, struct cay_buf *out)
{
        struct cay_json j;

        while (out->len > 0 && cay_buf_data(out)[out->len - 1] != '}')
                out->len--;
        if (out->len == 0)
                return -EINVAL;
        out->len--;
        if (cay_buf_puts(out, ",\"daemon\":") < 0)
                return -ENOMEM;
        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "ready");
        cay_json_bool(&j, d->is_ready);
        cay_json_key(&j, "error");
        cay_json_text(&j, d->err.code != CAY_OK ? d->err.msg : NULL);
        cay_json_end_object(&j);
        return cay_json_end(&j) < 0 ? -ENOMEM : cay_buf_puts(out, "}\n");
}

static int print(const struct args *a, const struct cay_doctor_facts *facts, const struct daemon *daemon)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_doctor_style style = find_style();
        struct cay_doctor_report report;
        int r;

        cay_buf_init(&out, OUTPUT_MAX);
        cay_doctor_judge(facts, &report);
        r = a->json ? cay_doctor_render_json(facts, &report, &out)
                    : cay_doctor_render_text(&report, &style, &out);
        if (r == 0 && daemon != NULL)
                r = a->json ? put_daemon_json(daemon, &out) : put_daemon_text(a, daemon, &out);
        return r < 0 ? r : sys_write_all(STDOUT_FILENO, cay_buf_data(&out), out.len);
}

int cay_cmd_doctor(int argc, char **argv)
{
        struct cay_doctor_facts facts;
        struct cay_error err = { 0 };
        struct args a = { 0 };
        struct daemon daemon = { 0 };
        int rest = 0, r = cay_flags_parse(table, argc, argv, &a, &rest, &err);

        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "takes no arguments ('%.40s')", argv[rest]);
        if (r < 0 || collect(&facts, &err) < 0)
                return cay_cli_complain("doctor", &err);
        if (a.reach.data != NULL)
                ask_daemon(&a, &daemon);
        r = print(&a, &facts, a.reach.data != NULL ? &daemon : NULL);
        cay_reach_answer_done(&daemon.answer);
        if (r < 0) {
                fprintf(stderr, "cay doctor: print the findings: %s\n", strerror(-r));
                return CAY_EXIT_FAILURE;
        }
        return facts.works && (a.reach.data == NULL || daemon.is_ready) ? WORKS : WORKS_NOT;
}
