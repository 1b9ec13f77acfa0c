/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-edge/edge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-edge/connection.h"
#include "foundation/base/log.h"
#include "foundation/base/parse.h"
#include "foundation/http/tls_ca.h"
#include "foundation/sys/confine.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/seccomp_calls.h"
#include "foundation/sys/unix_socket.h"

#define NOBODY 65534u
#define TRUSTED_DEFAULT "/etc/ssl/certs/ca-certificates.crt"

static const struct sys_seccomp_row main_rows[] = {
#include "cay-edge/edge_calls.def"
#include "cay-edge/main_calls.def"
};

static const struct sys_seccomp_row child_rows[] = {
#include "cay-edge/edge_calls.def"
};

struct child {
        pid_t pid; /* 0: free */
        uint64_t number;
};

struct edge {
        const char *trusted_path;
        struct cay_tls_context *trusted; /* owned; NULL: the file could not be read */
        struct timespec trusted_at;
        struct child children[EDGE_CONNECTIONS_MAX];
        struct edge_order order; /* the one that is taken now */
};

/* Whom this host trusts */

static void read_trusted(struct edge *e)
{
        struct cay_error err = { 0 };
        struct stat st = { 0 };

        stat(e->trusted_path, &st);
        if (e->trusted && st.st_mtim.tv_sec == e->trusted_at.tv_sec &&
            st.st_mtim.tv_nsec == e->trusted_at.tv_nsec)
                return;
        cay_tls_context_free(e->trusted);
        e->trusted = cay_tls_context_new_client(e->trusted_path, "", "", &err);
        e->trusted_at = st.st_mtim;
        if (!e->trusted)
                cay_log_error("no server can be trusted", "file=%s error=%s", e->trusted_path, err.msg);
}

/* Children */

static void tell_end(uint64_t number, enum edge_how how)
{
        const struct edge_end end = {
                .magic = EDGE_MAGIC, .size = sizeof(end), .number = number, .how = how
        };

        /*
         * May wait: cay-net reads without ever waiting for us, and a message that was lost would count as a
         * connection for ever.
         */
        while (send(EDGE_LINK_FD, &end, sizeof(end), MSG_NOSIGNAL) < 0 && errno == EINTR)
                ;
}

static enum edge_how serve(struct edge *e, const int fds[EDGE_FD_COUNT])
{
        struct cay_tls_context *box;
        struct cay_error err = { 0 };
        struct cay_tls_ca *ca = cay_tls_ca_new(e->order.ca, "Cay secrets of this daemon", &err);

        box = ca ? cay_tls_ca_context(ca, e->order.host, &err) : NULL;
        cay_tls_ca_free(ca);
        explicit_bzero(e->order.ca, sizeof(e->order.ca));
        close(EDGE_LINK_FD);
        if (!box || !e->trusted || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
            sys_seccomp_list_enter("cay-edge", child_rows, CAY_COUNT(child_rows)) < 0)
                return EDGE_BROKEN;
        return edge_connection_run(&e->order, fds, box, e->trusted);
}

static struct child *free_child(struct edge *e)
{
        for (unsigned i = 0; i < EDGE_CONNECTIONS_MAX; i++)
                if (e->children[i].pid == 0)
                        return &e->children[i];
        return NULL;
}

static void start(struct edge *e, const int fds[EDGE_FD_COUNT])
{
        struct child *c = free_child(e);
        pid_t pid = -1;

        read_trusted(e);
        if (c)
                pid = fork();
        if (pid == 0)
                _exit(serve(e, fds));
        if (pid > 0)
                *c = (struct child){ pid, e->order.number };
        else
                tell_end(e->order.number, EDGE_BROKEN);
}

static void reap(struct edge *e)
{
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                for (unsigned i = 0; i < EDGE_CONNECTIONS_MAX; i++) {
                        struct child *c = &e->children[i];

                        if (c->pid != pid)
                                continue;
                        tell_end(c->number, WIFEXITED(status) && WEXITSTATUS(status) < EDGE_HOW_COUNT
                                                    ? (enum edge_how)WEXITSTATUS(status)
                                                    : EDGE_BROKEN);
                        c->pid = 0;
                }
        }
}

/* Orders */

static bool is_text(const char *s, size_t size)
{
        size_t len = strnlen(s, size);

        if (len == 0 || len == size)
                return false;
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
                        return false;
        return true;
}

static bool is_order(const struct edge_order *o, ssize_t len, unsigned fd_count)
{
        if (len != sizeof(*o) || o->magic != EDGE_MAGIC || o->size != sizeof(*o) ||
            fd_count != EDGE_FD_COUNT || !is_text(o->host, sizeof(o->host)) || o->count > EDGE_SECRETS_MAX)
                return false;
        for (uint32_t i = 0; i < o->count; i++) {
                const struct edge_secret *s = &o->secrets[i];

                if (!is_text(s->header, sizeof(s->header)) ||
                    !is_text(s->placeholder, sizeof(s->placeholder)) || !is_text(s->value, sizeof(s->value)))
                        return false;
        }
        return true;
}

/* 1: an order; 0: nothing now; -1: cay-net is gone, or not what it should be. */
static int take_order(struct edge *e)
{
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(EDGE_LINK_FD, &e->order, sizeof(e->order), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return 0;
        if (n <= 0)
                return -1;
        if (!is_order(&e->order, n, count)) {
                sys_close_fds(fds, count);
                return -1;
        }
        start(e, fds);
        sys_close_fds(fds, count);
        explicit_bzero(&e->order, sizeof(e->order));
        return 1;
}

static void on_child(int signo)
{
}

static void run(struct edge *e)
{
        struct pollfd link = { .fd = EDGE_LINK_FD, .events = POLLIN };
        sigset_t none;
        int r = 0;

        sigemptyset(&none);
        while (r >= 0) {
                ppoll(&link, 1, NULL, &none); /* a child's end interrupts it */
                reap(e);
                do
                        r = take_order(e);
                while (r > 0);
        }
        for (unsigned i = 0; i < EDGE_CONNECTIONS_MAX; i++)
                e->children[i].pid = 0; /* their streams end with cay-net */
}

/* Start */

static int confine(const struct edge *e)
{
        struct sys_landlock_folder folders[2];
        cay_auto_close int etc = sys_open_at(AT_FDCWD, "/etc/ssl", O_PATH | O_DIRECTORY, 0);
        cay_auto_close int own = sys_open_folder_of(e->trusted_path);
        unsigned count = 0;
        int r;

        if (etc >= 0)
                folders[count++] = (struct sys_landlock_folder){ etc, SYS_LANDLOCK_READ_FILE };
        if (own >= 0)
                folders[count++] = (struct sys_landlock_folder){ own, SYS_LANDLOCK_READ_FILE };
        r = sys_landlock_enter(folders, count);
        if (r < 0 && r != -ENOSYS && r != -EOPNOTSUPP)
                return r;
        return sys_seccomp_list_enter("cay-edge", main_rows, CAY_COUNT(main_rows));
}

static int set_up(struct edge *e, unsigned id)
{
        const struct rlimit none = { 0 };
        struct sigaction child = { .sa_handler = on_child };
        sigset_t blocked;
        int r;

        signal(SIGPIPE, SIG_IGN);
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGCHLD);
        sigprocmask(SIG_SETMASK, &blocked, NULL);
        sigaction(SIGCHLD, &child, NULL);
        setrlimit(RLIMIT_CORE, &none);
        r = sys_give_up_root(id);
        if (r < 0)
                return r;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* after that: a change of ids clears it */
        fcntl(EDGE_LINK_FD, F_SETFD, FD_CLOEXEC);
        e->trusted_path = getenv("SSL_CERT_FILE");
        if (!e->trusted_path || e->trusted_path[0] != '/')
                e->trusted_path = TRUSTED_DEFAULT;
        read_trusted(e); /* the library reads files of its own, too: later there are none */
        return confine(e);
}

int edge_main(int argc, char **argv)
{
        static struct edge e;
        const struct cay_log_config log = { .program = "cay-edge",
                                            .least = CAY_LOG_WARN,
                                            .fd = STDERR_FILENO };
        uint64_t id;
        int r;

        cay_log_setup(&log);
        if (argc != 2 || cay_parse_u64(argv[1], &id) < 0 || id > INT32_MAX) {
                cay_log_error("cay-edge is started by cay-net, not by hand");
                return 2;
        }
        r = set_up(&e, id > 0 ? (unsigned)id : NOBODY);
        if (r == 0)
                run(&e);
        else
                cay_log_error("cay-edge cannot start", "error=%s", strerror(-r));
        cay_tls_context_free(e.trusted);
        return r < 0 ? 1 : 0;
}
