/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to a daemon. */
#include "cay/client/connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "cay/client/conn.h"
#include "foundation/sys/child.h"

#define CONNECT_MS 10000
#define HELPER_MS 1000 /* for the helper to exit after its descriptor closed */
#define HELPER_WIRE 3  /* where cay-tls has its socket */

static int connect_unix(const struct cay_url *url, struct cay_error *err)
{
        cay_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un at = { .sun_family = AF_UNIX };

        memccpy(at.sun_path, url->path, '\0', sizeof(at.sun_path));
        if (fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a socket");
        if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
                return cay_fail_sys(err, errno == EACCES || errno == EPERM ? CAY_DENIED : CAY_UNAVAILABLE,
                                    -errno, "no daemon answers at %.107s", url->path);
        return cay_take_fd(fd);
}

/* One address; -errno. */
static int connect_to(const struct addrinfo *a)
{
        cay_auto_close int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        int on = 1, failed = 0, r;
        socklen_t len = sizeof(failed);

        if (fd < 0)
                return -errno;
        if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
                if (errno != EINPROGRESS)
                        return -errno;
                do {
                        r = poll(&p, 1, CONNECT_MS);
                } while (r < 0 && errno == EINTR);
                if (r <= 0)
                        return r == 0 ? -ETIMEDOUT : -errno;
                if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) < 0 || failed != 0)
                        return failed != 0 ? -failed : -errno;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* keys are sent as they are pressed */
        return cay_take_fd(fd);
}

static int connect_tcp(const struct cay_url *url, struct cay_error *err)
{
        const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
        struct addrinfo *list = NULL;
        int fd = -ENOENT, r = getaddrinfo(url->host, url->port, &hints, &list);

        if (r != 0)
                return cay_fail(err, CAY_UNAVAILABLE, "find the host '%.100s': %s", url->host,
                                gai_strerror(r));
        for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
                fd = connect_to(a);
        freeaddrinfo(list);
        return fd < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, fd, "no daemon answers at %.100s, port %s",
                                     url->host, url->port)
                      : fd;
}

/* Descriptor 0 is an end of the pair, 3 the connected socket; nothing else is inherited. */
static int spawn(const struct cay_client *client, int clear, int wire, pid_t *ret, struct cay_error *err)
{
        extern char **environ;
        char *words[] = { (char *)"cay-tls", (char *)client->url.host, (char *)client->tls_ca, NULL };
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none;
        int r;

        /*
         * The helper inherits no blocked signals. Signals to our group (Ctrl-C) are for us, not for the
         * helper.
         */
        sigemptyset(&none);
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
        r = posix_spawn_file_actions_adddup2(&actions, clear, STDIN_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, wire, HELPER_WIRE);
        if (r == 0)
                r = posix_spawn(ret, client->tls_program, &actions, &attributes, words, environ);
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
        return r != 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, -r, "start %.150s for TLS", client->tls_program)
                      : 0;
}

static int connect_tls(const struct cay_client *client, pid_t *ret_helper, struct cay_error *err)
{
        cay_auto_close int ours = -1, theirs = -1, wire = -1;
        int pair[2];

        if (client->tls_program == NULL)
                return cay_fail(err, CAY_UNSUPPORTED, "https: cay-tls is not installed");
        wire = connect_tcp(&client->url, err);
        if (wire < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a socket");
        ours = pair[0];
        theirs = pair[1];
        if (spawn(client, theirs, wire, ret_helper, err) < 0)
                return -1;
        return cay_take_fd(ours);
}

int cay_connect(const struct cay_client *client, int *ret_fd, pid_t *ret_helper, struct cay_error *err)
{
        int fd;

        *ret_helper = 0;
        if (client->url.kind == CAY_URL_UNIX)
                fd = connect_unix(&client->url, err);
        else if (client->url.kind == CAY_URL_HTTP)
                fd = connect_tcp(&client->url, err);
        else
                fd = connect_tls(client, ret_helper, err);
        if (fd < 0)
                return -1;
        *ret_fd = fd;
        return 0;
}

void cay_connect_close(int *fd, pid_t *helper)
{
        int status;

        if (*fd >= 0)
                close(cay_take_fd(*fd));
        if (*helper > 0 && sys_child_await(*helper, HELPER_MS, &status) == 0) {
                kill(*helper, SIGKILL);
                waitpid(*helper, &status, 0);
        }
        *helper = 0;
}
