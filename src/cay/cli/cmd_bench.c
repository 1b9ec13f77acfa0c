/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay bench`: measures how long things take here and now. In each round every row has one turn, so that
 * other load on the machine affects all alike. Rows are other programs (posix_spawn, cay run, bubblewrap,
 * docker run) and the daemon's steps; without a daemon, only the programs. Ends after a number of rounds or a
 * time, whichever comes first, and on Ctrl-C with the results so far. Its sandboxes are destroyed in all
 * cases (and end by themselves if we are killed).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/base/json_out.h"
#include "foundation/base/parse.h"
#include "cay/cli/bench_beside.h"
#include "cay/cli/bench_daemon.h"
#include "cay/cli/bench_series.h"
#include "cay/cli/cli.h"
#include "cay/cli/safe.h"

#define ROUNDS 50u
#define TIME_MS 20000u
#define TIME_MAX_MS (10u * 60 * 1000)
#define CROWD 10u
#define OUTPUT_MAX (64u * 1024)

enum row {
        ROW_SPAWN = CAY_BESIDE_SPAWN,
        ROW_RUN = CAY_BESIDE_RUN,
        ROW_BUBBLEWRAP = CAY_BESIDE_BUBBLEWRAP,
        ROW_DOCKER = CAY_BESIDE_DOCKER,
        ROW_LIFE = CAY_BESIDE_COUNT, /* from here on the daemon's */
        ROW_CREATE,
        ROW_FIRST,
        ROW_DESTROY,
        ROW_EXEC,
        ROW_PUT,
        ROW_GET,
        ROW_CROWD,
        ROW_COUNT
};

struct row_text {
        char name[12]; /* in JSON */
        char doc[48];  /* in the table */
};

static const struct row_text rows[ROW_COUNT] = {
        [ROW_SPAWN] = { "spawn", "/bin/true, no sandbox (posix_spawn)" },
        [ROW_RUN] = { "run", "cay run, a sandbox for one command" },
        [ROW_BUBBLEWRAP] = { "bubblewrap", "bubblewrap, the machine's /usr, no limits" },
        [ROW_DOCKER] = { "docker", "docker run" },
        [ROW_LIFE] = { "life", "daemon: create, one command, destroy" },
        [ROW_CREATE] = { "create", "  create" },
        [ROW_FIRST] = { "first_exec", "  its first command" },
        [ROW_DESTROY] = { "destroy", "  destroy" },
        [ROW_EXEC] = { "exec", "daemon: a command in a sandbox that runs" },
        [ROW_PUT] = { "file_in", "daemon: a file of 8 MiB in" },
        [ROW_GET] = { "file_out", "daemon: the same out" },
        [ROW_CROWD] = { "at_once", "daemon: so many at once, made to destroyed" },
};

struct bench_args {
        struct cay_reach_args reach;
        const char *rounds_text, *time_text, *crowd_text, *image;
        bool json;
};

struct bench {
        struct bench_args args;
        uint64_t rounds, time_ms, crowd;
        struct cay_beside_program programs[CAY_BESIDE_COUNT];
        struct cay_series series[ROW_COUNT];
        struct cay_reach reach;
        struct cay_bench_daemon *daemon; /* NULL: there is none */
        unsigned done;                   /* rounds */
        uint64_t begun_ms;
};

#define TEXT(member) cay_flag_set_text, offsetof(struct bench_args, member)

static const struct cay_flag flags[] = {
        { "rounds", "N", "measure each at most N times (50)", TEXT(rounds_text) },
        { "time", "TIME", "stop after this time (20s)", TEXT(time_text) },
        { "at-once", "N", "create this many sandboxes at once in the row that does so (10)",
          TEXT(crowd_text) },
        { "docker-image", "NAME", "also measure `docker run` with this local image, which needs /bin/true",
          TEXT(image) },
        { "json", NULL, "print the figures as JSON", cay_flag_set_true, offsetof(struct bench_args, json) },
        CAY_REACH_FLAGS(offsetof(struct bench_args, reach)),
        { 0 },
};

static volatile sig_atomic_t told_to_stop;

static void on_signal(int signo)
{
        told_to_stop = signo;
}

static void print_help(void)
{
        printf("usage: cay bench [OPTION…]\n\n"
               "Measures this machine: a sandbox for one command and, if a daemon answers, its sandboxes. "
               "Takes turns\n"
               "with other programs that run the same /bin/true. Press Ctrl-C to stop and print the results "
               "so far.\n"
               "Everything that was created is destroyed.\n\n");
        cay_flags_print(flags, stdout);
}

/* Options */

static int read_count(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *ret,
                      struct cay_error *err)
{
        if (text != NULL && (cay_parse_u64(text, ret) < 0 || *ret < least || *ret > most))
                return cay_fail(err, CAY_INVALID,
                                "%s: '%.40s' is not a whole number from %" PRIu64 " to %" PRIu64, option,
                                text, least, most);
        return 0;
}

static int read_args(struct bench *b, struct cay_error *err)
{
        const struct bench_args *a = &b->args;

        b->rounds = ROUNDS;
        b->time_ms = TIME_MS;
        b->crowd = CROWD;
        if (read_count("--rounds", a->rounds_text, 1, CAY_BENCH_ROUNDS_MAX, &b->rounds, err) < 0 ||
            read_count("--at-once", a->crowd_text, 1, CAY_BENCH_CROWD_MAX, &b->crowd, err) < 0)
                return -1;
        if (a->time_text != NULL && (cay_parse_duration(a->time_text, &b->time_ms) < 0 || b->time_ms < 100 ||
                                     b->time_ms > TIME_MAX_MS))
                return cay_fail(err, CAY_INVALID, "--time: '%.40s' is not a time from 100ms to 10m",
                                a->time_text);
        return 0;
}

/* Rows */

static void leave_out(struct bench *b, enum row row, const char *why)
{
        snprintf(b->series[row].why, sizeof(b->series[row].why), "%.190s", why);
}

static bool is_in(const struct bench *b, enum row row)
{
        return b->series[row].why[0] == '\0';
}

static void open_programs(struct bench *b)
{
        for (unsigned i = 0; i < CAY_BESIDE_COUNT && !told_to_stop; i++) {
                struct cay_error err = { 0 };

                if (cay_beside_open((enum cay_beside)i, b->args.image, &b->programs[i], &err) < 0)
                        leave_out(b, (enum row)i, err.msg);
        }
}

/* Making a sandbox shows whether a daemon answers, and warms it up. */
static int open_daemon(struct bench *b, struct cay_error *err)
{
        const struct cay_reach_args *asked = &b->args.reach;
        bool is_named = asked->url != NULL || asked->data != NULL;
        struct cay_error failed = { 0 };

        if (told_to_stop)
                return 0;
        if (cay_reach_open(&b->reach, asked, err) < 0)
                return -1;
        b->daemon = cay_bench_daemon_open(&b->reach, (unsigned)b->crowd);
        if (b->daemon == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        if (cay_bench_create(b->daemon, &failed) == 0 && cay_bench_exec(b->daemon, &failed) == 0 &&
            cay_bench_destroy(b->daemon, &failed) == 0)
                return 0;
        if (is_named || b->reach.status != 0) { /* a daemon that refuses is not "none" */
                *err = failed;
                return -1;
        }
        cay_bench_daemon_close(b->daemon);
        b->daemon = NULL;
        for (unsigned i = ROW_LIFE; i < ROW_COUNT; i++)
                leave_out(b, (enum row)i, failed.msg);
        return 0;
}

/* One step, timed. Its time is also added to *sum. */
static int measure(struct bench *b, enum row row,
                   int (*step)(struct cay_bench_daemon *d, struct cay_error *err), uint64_t *sum,
                   struct cay_error *err)
{
        uint64_t begun = cay_clock_ns(), took;

        if (step(b->daemon, err) < 0)
                return -1;
        took = cay_clock_ns() - begun;
        cay_series_add(&b->series[row], took);
        *sum += took;
        return 0;
}

static int measure_daemon(struct bench *b, struct cay_error *err)
{
        uint64_t life = 0, other = 0;
        struct cay_error failed = { 0 };

        if (measure(b, ROW_CREATE, cay_bench_create, &life, err) < 0 ||
            measure(b, ROW_FIRST, cay_bench_exec, &life, err) < 0 ||
            measure(b, ROW_EXEC, cay_bench_exec, &other, err) < 0 ||
            measure(b, ROW_PUT, cay_bench_put, &other, err) < 0 ||
            measure(b, ROW_GET, cay_bench_get, &other, err) < 0 ||
            measure(b, ROW_DESTROY, cay_bench_destroy, &life, err) < 0)
                return -1;
        cay_series_add(&b->series[ROW_LIFE], life);
        if (!told_to_stop && is_in(b, ROW_CROWD) &&
            measure(b, ROW_CROWD, cay_bench_crowd, &other, &failed) < 0)
                leave_out(b, ROW_CROWD, failed.msg); /* others' sandboxes may leave too few */
        return 0;
}

static int measure_program(struct bench *b, enum row row, struct cay_error *err)
{
        uint64_t begun = cay_clock_ns();

        if (cay_beside_run(&b->programs[row], err) < 0)
                return told_to_stop ? 0 : cay_wrap(err, "%s", rows[row].name);
        cay_series_add(&b->series[row], cay_clock_ns() - begun);
        return 0;
}

static int measure_all(struct bench *b, struct cay_error *err)
{
        b->begun_ms = cay_clock_ms();
        for (; b->done < b->rounds && cay_clock_ms() - b->begun_ms < b->time_ms; b->done++) {
                for (unsigned i = 0; i < CAY_BESIDE_COUNT; i++) {
                        if (told_to_stop)
                                return 0;
                        if (is_in(b, (enum row)i) && measure_program(b, (enum row)i, err) < 0)
                                return -1;
                }
                if (told_to_stop)
                        return 0;
                if (b->daemon != NULL && measure_daemon(b, err) < 0)
                        return -1;
        }
        return 0;
}

/* Figures */

static void print_table(const struct bench *b)
{
        char name[64];
        struct utsname machine;

        if (uname(&machine) == 0)
                printf("cay %s, Linux %s, %ld processors; milliseconds, %u rounds in turns\n\n", CAY_VERSION,
                       machine.release, sysconf(_SC_NPROCESSORS_ONLN), b->done);
        printf("%-44s  %8s  %8s  %8s\n", "", "P50", "P90", "P99");
        for (unsigned i = 0; i < ROW_COUNT; i++) {
                const struct cay_series *s = &b->series[i];

                if (s->count == 0)
                        continue;
                snprintf(name, sizeof(name), "%s", rows[i].doc);
                if (i == ROW_CROWD)
                        snprintf(name, sizeof(name), "daemon: %" PRIu64 " at once, made to destroyed",
                                 b->crowd);
                printf("%-44s  %8.2f  %8.2f  %8.2f\n", name, (double)cay_series_ns(s, 50) / 1e6,
                       (double)cay_series_ns(s, 90) / 1e6, (double)cay_series_ns(s, 99) / 1e6);
        }
}

/* All rows of a missing daemon share one reason. */
static void print_left_out(const struct bench *b)
{
        unsigned last = b->daemon != NULL ? ROW_COUNT : ROW_LIFE + 1;

        for (unsigned i = 0; i < last; i++) {
                char safe[400];

                if (is_in(b, (enum row)i))
                        continue;
                fprintf(stderr, "cay bench: left out: %s: %s\n", i == ROW_LIFE ? "a daemon" : rows[i].name,
                        cay_safe_copy(b->series[i].why, safe, sizeof(safe)));
        }
        if (b->daemon == NULL && !is_in(b, ROW_LIFE))
                fprintf(stderr, "cay: start a daemon with `cay serve`, or name another one with --data DIR "
                                "or --url URL\n");
}

static void put_rows(struct cay_json *j, const struct bench *b)
{
        cay_json_key(j, "rows");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < ROW_COUNT; i++) {
                const struct cay_series *s = &b->series[i];

                if (s->count == 0)
                        continue;
                cay_json_begin_object(j);
                cay_json_key(j, "name");
                cay_json_text(j, rows[i].name);
                cay_json_key(j, "count");
                cay_json_u64(j, s->count);
                cay_json_key(j, "p50_us");
                cay_json_u64(j, cay_series_ns(s, 50) / 1000);
                cay_json_key(j, "p90_us");
                cay_json_u64(j, cay_series_ns(s, 90) / 1000);
                cay_json_key(j, "p99_us");
                cay_json_u64(j, cay_series_ns(s, 99) / 1000);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void put_left_out(struct cay_json *j, const struct bench *b)
{
        cay_json_key(j, "left_out");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < ROW_COUNT; i++) {
                if (is_in(b, (enum row)i))
                        continue;
                cay_json_key(j, rows[i].name);
                cay_json_text(j, b->series[i].why);
        }
        cay_json_end_object(j);
}

static int print_json(const struct bench *b, struct cay_error *err)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, OUTPUT_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "version");
        cay_json_text(&j, CAY_VERSION);
        cay_json_key(&j, "rounds");
        cay_json_u64(&j, b->done);
        cay_json_key(&j, "at_once");
        cay_json_u64(&j, b->crowd);
        cay_json_key(&j, "file_bytes");
        cay_json_u64(&j, CAY_BENCH_FILE_BYTES);
        put_rows(&j, b);
        put_left_out(&j, b);
        cay_json_end_object(&j);
        return cay_cli_print_json(&j, err);
}

static int report(const struct bench *b, struct cay_error *err)
{
        if (b->args.json ? print_json(b, err) < 0 : (print_table(b), false))
                return -1;
        if (fflush(stdout) != 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "write to standard output");
        if (!b->args.json)
                print_left_out(b);
        return 0;
}

static void watch_signals(void)
{
        struct sigaction sa = { .sa_handler = on_signal };

        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
        sigaction(SIGHUP, &sa, NULL);
        signal(SIGPIPE, SIG_IGN);
}

static int run_bench(struct bench *b, struct cay_error *err)
{
        for (unsigned i = 0; i < ROW_COUNT; i++)
                if (!cay_series_open(&b->series[i], (unsigned)b->rounds))
                        return cay_fail(err, CAY_INTERNAL, "no memory");
        watch_signals();
        open_programs(b);
        if (open_daemon(b, err) < 0)
                return -1;
        if (!b->args.json && isatty(STDERR_FILENO))
                fprintf(stderr,
                        "cay bench: at most %" PRIu64 " rounds and %" PRIu64 " s; Ctrl-C ends it sooner\n",
                        b->rounds, b->time_ms / 1000);
        if (measure_all(b, err) < 0)
                return -1;
        return b->done == 0 && told_to_stop ? 0 : report(b, err);
}

int cay_cmd_bench(int argc, char **argv)
{
        cay_auto_free struct bench *b = calloc(1, sizeof(*b));
        struct cay_error err = { 0 };
        int rest = 0, r;

        if (b == NULL)
                return CAY_EXIT_FAILURE;
        r = cay_flags_parse(flags, argc, argv, &b->args, &rest, &err);
        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "unexpected argument '%.60s'; see `cay help bench`",
                             argv[rest]);
        if (r == 0)
                r = read_args(b, &err);
        if (r == 0)
                r = run_bench(b, &err);
        cay_bench_daemon_close(b->daemon);
        for (unsigned i = 0; i < ROW_COUNT; i++)
                cay_series_close(&b->series[i]);
        if (r < 0)
                return cay_reach_complain(&b->reach, "bench", &err);
        return told_to_stop ? 128 + told_to_stop : 0;
}
