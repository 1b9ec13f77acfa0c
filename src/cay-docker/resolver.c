/* SPDX-License-Identifier: Apache-2.0 */
/* A child that looks up one name. The theory is in resolver.h. */
#include "cay-docker/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/error.h"
#include "foundation/sys/syscalls.h"

enum { SOCK_FD = 3, NOBODY = 65534 };

struct found { /* one message */
        uint32_t len;
        struct sockaddr_storage address;
};

static int look_up(const struct docker_host *h, struct sockaddr_storage *ret, unsigned *ret_len)
{
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
        int r = getaddrinfo(h->host, h->port, &hints, &found);

        if (r != 0)
                return r;
        memset(ret, 0, sizeof(*ret));
        memcpy(ret, found->ai_addr, found->ai_addrlen);
        *ret_len = (unsigned)found->ai_addrlen;
        freeaddrinfo(found);
        return 0;
}

int docker_resolve(const struct docker_host *h, const char *host_text, struct sockaddr_storage *ret,
                   unsigned *ret_len, struct cay_error *err)
{
        int r = look_up(h, ret, ret_len);

        return r == 0 ? 0
                      : cay_fail(err, CAY_UNAVAILABLE, "docker host '%s': %s", host_text, gai_strerror(r));
}

static bool is_address(const char *host)
{
        struct in6_addr any;

        return inet_pton(AF_INET, host, &any) == 1 || inet_pton(AF_INET6, host, &any) == 1;
}

_Noreturn static void be_child(int sock, const struct docker_host *h)
{
        char asked;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(sock, SOCK_FD) < 0)
                _exit(1);
        sys_close_range(SOCK_FD + 1, ~0u, 0);
        if (geteuid() == 0 && (sys_setgroups(0, NULL) < 0 || sys_setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                               sys_setresuid(NOBODY, NOBODY, NOBODY) < 0))
                _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the change of ids has cleared it */
        while (recv(SOCK_FD, &asked, sizeof(asked), 0) == (ssize_t)sizeof(asked)) {
                struct found f = { 0 };
                unsigned len = 0;

                if (look_up(h, &f.address, &len) == 0)
                        f.len = len;
                if (send(SOCK_FD, &f, sizeof(f), MSG_NOSIGNAL) < 0)
                        break;
        }
        _exit(0);
}

static void on_word(struct cay_watch *w, uint32_t events)
{
        struct docker_resolver *r = cay_container_of(w, struct docker_resolver, watch);
        struct found f;
        ssize_t n = recv(w->fd, &f, sizeof(f), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n != (ssize_t)sizeof(f) || f.len > sizeof(f.address)) {
                docker_resolver_close(r); /* it has ended: the address stays what it is */
                return;
        }
        r->asked = false;
        if (f.len > 0)
                r->on_found(r, &f.address, f.len);
}

int docker_resolver_open(struct docker_resolver *r, struct cay_loop *loop, const struct docker_host *h)
{
        int ends[2], got;
        pid_t pid;

        if (h->kind == DOCKER_HOST_UNIX || is_address(h->host))
                return 0;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -errno;
        pid = fork();
        if (pid == 0)
                be_child(ends[1], h);
        got = pid < 0 ? -errno : cay_watch_add(loop, &r->watch, ends[0], EPOLLIN, on_word);
        close(ends[1]);
        if (got < 0) {
                close(ends[0]); /* which ends the child, too */
                return got;
        }
        r->open = true;
        return 0;
}

void docker_resolver_ask(struct docker_resolver *r)
{
        if (!r->open || r->asked)
                return;
        r->asked = send(r->watch.fd, "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

void docker_resolver_close(struct docker_resolver *r)
{
        int fd = r->watch.fd;

        if (!r->open)
                return;
        r->open = false;
        cay_watch_remove(&r->watch);
        close(fd);
}
