/* SPDX-License-Identifier: Apache-2.0 */
/* Starting cay-docker: everything it needs to know is in its arguments, and nothing of that is secret. */
#include "serve/docker_keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "serve/spawn.h"
#include "sys/unix_socket.h"
#include "wire/message.h"

#define WORDS_MAX 256u

struct words {
        char *argv[WORDS_MAX + 1];
        unsigned count;
};

static void add(struct words *w, const char *name, const char *value)
{
        if (w->count + 2 > WORDS_MAX)
                return; /* lists have a maximum that is smaller */
        w->argv[w->count++] = (char *)(uintptr_t)name;
        if (value)
                w->argv[w->count++] = (char *)(uintptr_t)value;
        w->argv[w->count] = NULL;
}

static void add_list(struct words *w, const char *name, const struct cay_config_list *list)
{
        for (unsigned i = 0; i < list->count; i++)
                add(w, name, list->items[i]);
}

/* As Docker's own programs do: the folder counts only where TLS is asked for. */
static const char *certificates(const struct cay_config *config)
{
        const char *verify = getenv("DOCKER_TLS_VERIFY"), *folder = getenv("DOCKER_CERT_PATH");

        if (config->docker_certs[0])
                return config->docker_certs;
        return verify && verify[0] && folder ? folder : "";
}

static int sockets(int link[2], int keep[2], struct cay_error *err)
{
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make cay-docker's link");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keep) == 0)
                return 0;
        close(link[0]);
        close(link[1]);
        return cay_fail_sys(err, CAY_INTERNAL, -errno, "make cay-docker's socket");
}

int cay_docker_keep_start(struct cay_docker_keep *d, const struct cay_config *config, const char *program_dir,
                          const sigset_t *mask, struct cay_error *err)
{
        struct words w = { .count = 0 };
        char init[4096];
        int link[2], keep[2], fds[2];
        struct cay_spawn s = { .dir = program_dir,
                               .program = "cay-docker",
                               .argv = w.argv,
                               .fds = fds,
                               .fd_count = CAY_COUNT(fds),
                               .mask = mask };

        snprintf(init, sizeof(init), "%s/cay-init", program_dir);
        add(&w, "cay-docker", "--keep");
        add(&w, "--host", config->docker_host);
        add(&w, "--instance", config->data);
        add(&w, "--init", init);
        if (certificates(config)[0])
                add(&w, "--certs", certificates(config));
        add_list(&w, "--image", &config->docker_images);
        add_list(&w, "--root", &config->workspace_roots);
        if (config->registry[0])
                add(&w, "--registry", config->registry);
        if (sockets(link, keep, err) < 0)
                return -1;
        fds[0] = link[1];
        fds[1] = keep[1];
        d->pid = cay_spawn(&s, err);
        d->since_ms = cay_clock_ms();
        close(link[1]);
        close(keep[1]);
        d->link = link[0];
        d->sock = keep[0];
        if (d->pid >= 0)
                return 0;
        d->pid = 0;
        cay_docker_keep_close(d);
        return -1;
}

int cay_docker_keep_link(struct cay_docker_keep *d, int *ret, struct cay_error *err)
{
        const struct wire_keeper say = { .magic = WIRE_MAGIC,
                                         .size = sizeof(say),
                                         .type = WIRE_KEEPER_FRONT };
        int link[2], n;

        if (d->link >= 0) {
                *ret = cay_take_fd(d->link);
                return 0;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make cay-docker's link");
        n = (int)sys_send_fds(d->sock, &say, sizeof(say), &link[1], 1, MSG_NOSIGNAL);
        close(link[1]);
        if (n < 0) {
                close(link[0]);
                return cay_fail_sys(err, CAY_UNAVAILABLE, n, "hand the link to cay-docker");
        }
        *ret = link[0];
        return 0;
}

void cay_docker_keep_close(struct cay_docker_keep *d)
{
        if (d->link >= 0)
                close(cay_take_fd(d->link));
        if (d->sock >= 0)
                close(cay_take_fd(d->sock));
}
