/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether Docker answers GET /_ping and GET /version. A child does this: it connects, gives up its
 * privileges, and only then reads the answer. A name that does not resolve or a silent peer ends with the
 * child.
 */
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "cay/doctor/facts_priv.h"
#include "cay/doctor/host_text.h"
#include "cay/doctor/probe.h"
#include "foundation/sys/confine.h"
#include "foundation/sys/fd.h"

#define ANSWER_MAX 65536

static int connect_unix(const char *path)
{
        struct sockaddr_un to = { .sun_family = AF_UNIX };
        cay_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        memcpy(to.sun_path, path, strlen(path));
        if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
                return -errno;
        return cay_take_fd(fd);
}

static int connect_tcp(const struct cay_docker_address *a)
{
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
        int r = -EHOSTUNREACH;

        if (getaddrinfo(a->host, a->port, &hints, &list) != 0)
                return r;
        for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
                cay_auto_close int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

                if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
                        r = cay_take_fd(fd);
                        break;
                }
                r = -errno;
        }
        freeaddrinfo(list);
        return r;
}

static int open_address(const struct cay_docker_address *a)
{
        return a->is_unix ? connect_unix(a->path) : connect_tcp(a);
}

/* HTTP/1.0: the answer ends with the connection. Returns its status, or -errno. */
static int ask(int fd, const char *path, char *answer, const char **ret_body, size_t *ret_len)
{
        char request[128];
        size_t len = 0;
        int n = snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: docker\r\n\r\n", path);
        int r = sys_write_all(fd, request, (size_t)n);

        while (r == 0 && len < ANSWER_MAX) {
                ssize_t got = read(fd, answer + len, ANSWER_MAX - len);

                if (got < 0 && errno != EINTR)
                        r = -errno;
                if (got == 0)
                        break;
                len += got > 0 ? (size_t)got : 0;
        }
        return r < 0 ? r : cay_docker_answer_parse(answer, len, ret_body, ret_len);
}

static int converse(int ping, int version, char *answer, struct cay_docker *d)
{
        const char *body;
        size_t len;
        int r;

        d->state = CAY_DOCKER_ODD;
        r = ask(ping, "/_ping", answer, &body, &len);
        if (r != 200)
                return r < 0 ? r : 0;
        r = ask(version, "/version", answer, &body, &len);
        if (r != 200 || !cay_docker_member(body, len, "Version", d->version, sizeof(d->version)))
                return r < 0 ? r : 0;
        cay_docker_member(body, len, "ApiVersion", d->api, sizeof(d->api));
        d->state = CAY_DOCKER_ANSWERS;
        return 0;
}

static int probe_docker(const void *arg, void *ret)
{
        const struct cay_docker_address *a = arg;
        cay_auto_close int ping = open_address(a), version = ping < 0 ? -1 : open_address(a);
        int r = ping < 0 ? ping : version < 0 ? version : sys_self_confine();
        char *answer = malloc(ANSWER_MAX);

        if (r == 0 && answer == NULL)
                r = -ENOMEM;
        if (r == 0)
                r = converse(ping, version, answer, ret);
        free(answer);
        return r;
}

static enum cay_docker_state state_of(int r)
{
        switch (r) {
        case -ENOENT:
        case -ENOTDIR:
                return CAY_DOCKER_ABSENT;
        case -EACCES:
        case -EPERM:
                return CAY_DOCKER_DENIED;
        default:
                return CAY_DOCKER_DEAD;
        }
}

void cay_doctor_collect_docker(const char *docker_host, unsigned deadline_ms, struct cay_doctor_facts *f)
{
        struct cay_docker *d = &f->docker;
        struct cay_docker_address a;
        int r = cay_docker_address_parse(docker_host, &a);

        d->asked_for = docker_host != NULL && docker_host[0] != '\0';
        if (d->asked_for)
                snprintf(d->where, sizeof(d->where), "%s", docker_host);
        else
                snprintf(d->where, sizeof(d->where), "%s", a.path);
        cay_doctor_make_plain(d->where);
        if (r < 0) {
                d->state = CAY_DOCKER_UNKNOWN;
                return;
        }
        r = cay_doctor_probe(probe_docker, &a, d, sizeof(*d), deadline_ms);
        if (r < 0) {
                d->state = state_of(r);
                d->sys = r;
        }
}
