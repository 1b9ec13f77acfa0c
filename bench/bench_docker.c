/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the docker engine costs beside Docker's own program, as Markdown: a sandbox for one command (create +
 * exec + remove over REST, and `cay run`) in turns with `docker run --rm` of the same image and limits, and a
 * command in a running sandbox in turns with `docker exec`. Started by scripts/with_dockerd, on a Docker of
 * its own (DOCKER_HOST). The image is busybox alone: none can be pulled here.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "figures.h"
#include "goals.h"
#include "http_client.h"
#include "rivals.h"

#define IMAGE "cay-bench"
#define LIMITS "--memory", "256m", "--cpus", "0.5"

enum { ROUNDS = 20, WARMUP = 2, EXEC_TIMES = 3 };
enum { REST, RUN, DOCKER_RUN, LIFE_SERIES };
enum { REST_EXEC, DOCKER_EXEC, EXEC_SERIES };

static const char *const life_names[LIFE_SERIES] = { "create + exec + remove over REST, cold",
                                                     "cay run --engine docker", "docker run --rm" };
static const char *const exec_names[EXEC_SERIES] = { "exec over REST", "docker exec" };

struct docker_bench {
        struct daemon daemon;
        struct client client;
        char cay[4096];
};

static int run(char *const argv[])
{
        int status = -1;
        pid_t pid;

        if (rivals_spawn(argv, &pid) < 0)
                return -1;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -1;
        return status;
}

static int make_image(void)
{
        char *const argv[] = {
                "sh", "-c",
                "d=$(mktemp -d) && mkdir $d/bin $d/tmp && cp \"$(command -v busybox)\" $d/bin/busybox && "
                "for w in sh true sleep; do ln -s busybox $d/bin/$w; done && "
                "tar -C $d -c . | docker import - " IMAGE " && rm -rf $d",
                NULL
        };

        return run(argv);
}

static int timed(char *const argv[], double *ret_ms)
{
        double begin = figures_now_ms();

        if (run(argv) != 0) {
                fprintf(stderr, "bench: '%s %s' failed\n", argv[0], argv[1]);
                return -1;
        }
        *ret_ms = figures_now_ms() - begin;
        return 0;
}

/* One sandbox over REST */

static int create(struct client *c, char *id, size_t size)
{
        char text[CLIENT_TEXT_MAX];

        if (client_ask(c, "POST", "/api/sandboxes", "{\"limits\":{\"memory\":\"256m\",\"cpus\":\"0.5\"}}",
                       text, sizeof(text)) < 0)
                return -1;
        return client_find(text, "sandbox_id", id, size) ? 0 : -1;
}

static int exec_true(struct client *c, const char *id)
{
        char path[128], text[CLIENT_TEXT_MAX];

        snprintf(path, sizeof(path), "/api/sandboxes/%s/execute", id);
        if (client_ask(c, "POST", path, "{\"command\":[\"/bin/true\"]}", text, sizeof(text)) < 0)
                return -1;
        return strstr(text, "\"exit_code\":0") ? 0 : -1;
}

static int destroy(struct client *c, const char *id)
{
        char path[128], text[CLIENT_TEXT_MAX];

        snprintf(path, sizeof(path), "/api/sandboxes/%s", id);
        return client_ask(c, "DELETE", path, "", text, sizeof(text));
}

static int take_life(struct docker_bench *b, double ms[LIFE_SERIES])
{
        char *const ours[] = { b->cay,        "run",  "--quiet", "--engine",  "docker", "--allow-missing",
                               "disk,inodes", LIMITS, "--",      "/bin/true", NULL };
        char *const theirs[] = { "docker",
                                 "run",
                                 "--rm",
                                 "--network",
                                 "none",
                                 LIMITS,
                                 "--pids-limit",
                                 "256",
                                 "--cap-drop",
                                 "ALL",
                                 "--security-opt",
                                 "no-new-privileges",
                                 "--user",
                                 "1001",
                                 IMAGE,
                                 "/bin/true",
                                 NULL };
        double begin = figures_now_ms();
        char id[64];

        if (create(&b->client, id, sizeof(id)) < 0 || exec_true(&b->client, id) < 0 ||
            destroy(&b->client, id) < 0)
                return -1;
        ms[REST] = figures_now_ms() - begin;
        return timed(ours, &ms[RUN]) < 0 || timed(theirs, &ms[DOCKER_RUN]) < 0 ? -1 : 0;
}

static int take_exec(struct docker_bench *b, const char *id, char *container, double ms[EXEC_SERIES])
{
        char *const theirs[] = { "docker", "exec", container, "/bin/true", NULL };
        double begin = figures_now_ms();

        if (exec_true(&b->client, id) < 0)
                return -1;
        ms[REST_EXEC] = figures_now_ms() - begin;
        return timed(theirs, &ms[DOCKER_EXEC]);
}

static void print(const char *what, const struct series *s, int count, double wanted, const char *peer)
{
        printf("| %s, %d rounds | p50 ms | p90 ms | best ms | × %s (p50) | × %s (per round) "
               "|\n|---|---|---|---|---|---|\n",
               what, s[0].count, peer, peer);
        for (int i = 0; i < count; i++)
                printf("| %s | %.1f | %.1f | %.1f | %.2f | %.2f |\n", s[i].name, series_quantile(&s[i], 0.5),
                       series_quantile(&s[i], 0.9), series_quantile(&s[i], 0),
                       series_quantile(&s[i], 0.5) / series_quantile(&s[count - 1], 0.5),
                       series_ratio(&s[i], &s[count - 1]));
        printf("\nWanted: at most %.1f × %s (p50).\n\n", wanted, peer);
        fflush(stdout);
}

static int row_life(struct docker_bench *b, int rounds)
{
        struct series s[LIFE_SERIES] = { 0 };
        int r = 0;

        for (int i = 0; i < LIFE_SERIES && r == 0; i++)
                r = series_open(&s[i], life_names[i], rounds);
        for (int round = -WARMUP; round < rounds && r == 0; round++) {
                double ms[LIFE_SERIES];

                r = take_life(b, ms);
                for (int i = 0; i < LIFE_SERIES && r == 0 && round >= 0; i++)
                        series_add(&s[i], ms[i]);
        }
        if (r == 0)
                print("a container for one /bin/true", s, LIFE_SERIES, 1.2, "docker run");
        if (r == 0)
                goals_note(GOAL_docker_life, series_ratio(&s[REST], &s[DOCKER_RUN]));
        for (int i = 0; i < LIFE_SERIES; i++)
                series_close(&s[i]);
        return r;
}

static int row_exec(struct docker_bench *b, int rounds)
{
        struct series s[EXEC_SERIES] = { 0 };
        char id[64], container[80];
        int r = create(&b->client, id, sizeof(id));

        if (r < 0)
                return -1;
        snprintf(container, sizeof(container), "cay-%s", id);
        for (int i = 0; i < EXEC_SERIES && r == 0; i++)
                r = series_open(&s[i], exec_names[i], rounds * EXEC_TIMES);
        for (int round = -WARMUP; round < rounds * EXEC_TIMES && r == 0; round++) {
                double ms[EXEC_SERIES];

                r = take_exec(b, id, container, ms);
                for (int i = 0; i < EXEC_SERIES && r == 0 && round >= 0; i++)
                        series_add(&s[i], ms[i]);
        }
        if (r == 0)
                print("/bin/true in a running container", s, EXEC_SERIES, 0.2, "docker exec");
        if (r == 0)
                goals_note(GOAL_docker_exec, series_ratio(&s[REST_EXEC], &s[DOCKER_EXEC]));
        for (int i = 0; i < EXEC_SERIES; i++)
                series_close(&s[i]);
        return destroy(&b->client, id) < 0 ? -1 : r;
}

static int measure(struct docker_bench *b, int rounds)
{
        int r;

        if (client_open(&b->client, b->daemon.port, b->daemon.token) < 0)
                return -1;
        rivals_print_machine(rounds);
        r = row_life(b, rounds);
        if (row_exec(b, rounds) < 0)
                r = -1;
        client_close(&b->client);
        return r;
}

int main(int argc, char **argv)
{
        static struct docker_bench b = { .client.fd = -1 };
        char *host = getenv("DOCKER_HOST"), *build = argc > 1 ? argv[argc - 1] : "build";
        int rounds = argc == 4 && strcmp(argv[1], "--runs") == 0 ? atoi(argv[2]) : ROUNDS, r;
        char *more[] = { "--engine", "docker", "--docker-images", IMAGE, "--docker-host", host, NULL };

        if (!host || rounds < 1) {
                fprintf(stderr, "usage: with_dockerd bench_docker [--runs N] [BUILD]\n");
                return 2;
        }
        snprintf(b.cay, sizeof(b.cay), "%s/cay", build);
        setenv("CAY_DOCKER_IMAGE", IMAGE, 1);
        if (make_image() != 0) {
                fprintf(stderr, "bench: this Docker takes no image\n");
                return 1;
        }
        r = daemon_start_with(&b.daemon, build, more);
        if (r == 0)
                r = measure(&b, rounds);
        if (daemon_stop(&b.daemon) < 0)
                r = -1;
        if (r < 0)
                return 2;
        return goals_report(false) < 0 ? 1 : 0;
}
