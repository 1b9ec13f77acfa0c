/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's data folder and sockets. */
#include "cay/keeper/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "cay/keeper/layer_pool.h"
#include "foundation/base/log.h"
#include "foundation/base/parse.h"
#include "foundation/sys/fd.h"

#define LOCK "lock"
#define LAYERS "layers"
#define URL "url"
/* The socket's folder decides who may connect; the kernel tells who is connecting. */
#define SOCKET_MODE 0666
#define FELL_TRIES 1000 /* a busy machine takes a while to end processes */
#define FELL_NAP_MS 20
#define LOCKED_TRIES 100 /* for a process that was perhaps just killed */
#define SAY_AFTER 50     /* tries */

static int open_folder(struct cay_place *p, const char *path, struct cay_error *err)
{
        struct stat st;

        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return cay_fail_sys(err, errno == EACCES ? CAY_DENIED : CAY_INVALID, -errno,
                                    "make the data folder '%.120s' (--data names another)", path);
        p->data_fd = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        if (p->data_fd < 0)
                return cay_fail_sys(err, CAY_INVALID, p->data_fd, "open the data folder '%.120s'", path);
        if (fstat(p->data_fd, &st) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "look at the data folder");
        if (st.st_uid != geteuid())
                return cay_fail(err, CAY_DENIED,
                                "the data folder '%.120s' belongs to uid %u: use one of your own", path,
                                (unsigned)st.st_uid);
        if ((st.st_mode & 077) != 0 && fchmod(p->data_fd, 0700) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "close the data folder to others");
        return 0;
}

/* Whether the process that wrote its pid there has ended: a lock can outlive it for a moment. */
static bool is_gone(int lock_fd)
{
        char text[24] = "";
        uint64_t pid;

        sys_read_fd(lock_fd, text, sizeof(text));
        text[strcspn(text, "\n")] = '\0';
        return cay_parse_u64(text, &pid) < 0 || pid == 0 || pid > INT_MAX ||
               (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}

/*
 * A daemon that was just killed keeps the lock until the kernel has removed it, which may take a while on a
 * busy machine. A daemon that is alive is reported soon.
 */
static int lock(int lock_fd)
{
        const struct timespec nap = { .tv_nsec = FELL_NAP_MS * 1000000L };

        for (unsigned tries = 0;; tries++) {
                if (flock(lock_fd, LOCK_EX | LOCK_NB) == 0)
                        return 0;
                if (errno != EWOULDBLOCK || tries >= (is_gone(lock_fd) ? FELL_TRIES : LOCKED_TRIES))
                        return -errno;
                nanosleep(&nap, NULL);
        }
}

/* ret_fell: the last daemon did not stop cleanly (a clean stop empties the file). */
static int lock_folder(struct cay_place *p, const char *path, bool *ret_fell, struct cay_error *err)
{
        char text[24] = "";
        int n, r;

        p->lock_fd = sys_open_beneath(p->data_fd, LOCK, O_RDWR | O_CREAT, 0600);
        if (p->lock_fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, p->lock_fd, "make the lock in '%.120s'", path);
        r = lock(p->lock_fd);
        if (r < 0) {
                if (r != -EWOULDBLOCK)
                        return cay_fail_sys(err, CAY_INTERNAL, r, "lock '%.120s'", path);
                sys_read_fd(p->lock_fd, text, sizeof(text));
                text[strcspn(text, "\n")] = '\0';
                p->lock_fd = (close(p->lock_fd), -1);
                return cay_fail(
                        err, CAY_CONFLICT,
                        "another cay serve (pid %.20s) uses '%.100s'; choose another folder with --data",
                        text, path);
        }
        *ret_fell = sys_read_fd(p->lock_fd, text, sizeof(text)) > 0;
        n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
        /* On a full disk the pid cannot be written; the lock holds anyway. */
        if (ftruncate(p->lock_fd, 0) < 0 || (pwrite(p->lock_fd, text, (size_t)n, 0) != n && errno != ENOSPC))
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "write the lock");
        return 0;
}

/*
 * Owned by the keeper, whatever id the front gets: only the warden makes, mounts and removes what is in it.
 */
static int open_layers(struct cay_place *p, const struct cay_config *c, struct cay_error *err)
{
        struct stat st;
        int inside;

        if (mkdirat(p->data_fd, LAYERS, 0700) < 0 && errno != EEXIST)
                return cay_fail_sys(err, errno == ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, -errno,
                                    "make the folder '" LAYERS "' in the data folder");
        p->layers_fd = sys_open_beneath(p->data_fd, LAYERS, O_RDONLY | O_DIRECTORY, 0);
        if (p->layers_fd < 0)
                return cay_fail_sys(err, CAY_INVALID, p->layers_fd,
                                    "open the folder '" LAYERS "' of the data folder");
        if (fstat(p->layers_fd, &st) < 0 || st.st_uid != geteuid())
                return cay_fail(err, CAY_DENIED,
                                "the folder '" LAYERS "' of the data folder belongs to another");
        if ((st.st_mode & 077) != 0 && fchmod(p->layers_fd, 0700) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "close the folder '" LAYERS "' to others");
        if (cay_layer_pool_open(p->data_fd, p->layers_fd, c->layer_pool, &inside, err) < 0)
                return -1;
        p->disk_fd = inside >= 0 ? p->layers_fd : fcntl(p->layers_fd, F_DUPFD_CLOEXEC, 0);
        if (inside >= 0)
                p->layers_fd = inside;
        return p->disk_fd < 0 ? cay_fail_sys(err, CAY_INTERNAL, -errno, "copy a descriptor") : 0;
}

static int open_unix(struct cay_place *p, const struct cay_config *c, struct cay_error *err)
{
        int n = c->socket[0] ? snprintf(p->unix_path, sizeof(p->unix_path), "%s", c->socket)
                             : snprintf(p->unix_path, sizeof(p->unix_path), "%s/cay.sock", c->data);

        if (n >= (int)sizeof(p->unix_path)) {
                p->unix_path[0] = '\0';
                return cay_fail(
                        err, CAY_INVALID,
                        "the unix socket's path is longer than %zu bytes; choose another with --socket",
                        sizeof(p->unix_path) - 1);
        }
        p->unix_fd = cay_listen_unix(p->unix_path, SOCKET_MODE, err);
        if (p->unix_fd < 0) {
                p->unix_path[0] = '\0';
                return -1;
        }
        return 0;
}

static int open_tcp(struct cay_place *p, const struct cay_config *c, struct cay_error *err)
{
        int n = cay_listen_tcp(c->host, (uint16_t)c->port, p->tcp_fds, err);

        if (n < 0)
                return -1;
        p->tcp_count = (unsigned)n;
        p->port = cay_listen_port(p->tcp_fds[0]);
        return 0;
}

/*
 * The processes of a killed daemon end a moment after it, and only then close their sockets. So we may have
 * the folder's lock while they still listen. After a clean stop there is nothing to wait for.
 */
static int open_sockets(struct cay_place *p, const struct cay_config *c, bool fell, struct cay_error *err)
{
        for (unsigned tries = fell ? FELL_TRIES : 1; tries > 0; tries--) {
                const struct timespec nap = { .tv_nsec = FELL_NAP_MS * 1000000L };

                if ((p->unix_fd >= 0 || open_unix(p, c, err) == 0) && open_tcp(p, c, err) == 0)
                        return 0;
                if (err->code != CAY_EXISTS)
                        return -1;
                if (tries == FELL_TRIES - SAY_AFTER)
                        cay_log_warn("waiting for the sockets of a daemon that was killed", "error=%s",
                                     err->msg);
                if (tries > 1)
                        nanosleep(&nap, NULL);
        }
        return -1;
}

/*
 * For the warden, which resolves clients' paths below these folders. A missing folder is logged and left out.
 */
static void open_roots(struct cay_place *p, const struct cay_config *c)
{
        for (unsigned i = 0; i < c->workspace_roots.count && i < CAY_PLACE_ROOTS; i++) {
                const char *path = c->workspace_roots.items[i];

                p->root_fds[i] = sys_open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
                p->root_count = i + 1;
                if (p->root_fds[i] < 0)
                        cay_log_warn("workspace root is not there, ignoring", "path=%s errno=%d", path,
                                     -p->root_fds[i]);
        }
}

/* Scripts read it if they do not know the port (port 0, or another than requested). */
static int write_url(const struct cay_place *p, const struct cay_config *c, struct cay_error *err)
{
        char url[CAY_CONFIG_URL_MAX + 1];
        int r;

        cay_config_url(c, p->port, url);
        snprintf(url + strlen(url), 2, "\n");
        unlinkat(p->data_fd, URL, 0);
        r = sys_make_file(p->data_fd, URL, 0600, url, strlen(url));
        if (r == -ENOSPC) { /* a daemon that cannot start cannot free space either */
                unlinkat(p->data_fd, URL, 0);
                cay_log_warn("the disk is full: the address is not written to the data folder, ignoring",
                             "file=" URL);
                return 0;
        }
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "write the file '" URL "' in the data folder") : 0;
}

int cay_place_open(struct cay_place *p, const struct cay_config *config, struct cay_error *err)
{
        bool fell = false;

        p->data_fd = p->lock_fd = p->unix_fd = p->layers_fd = p->disk_fd = -1;
        if (open_folder(p, config->data, err) < 0 || lock_folder(p, config->data, &fell, err) < 0 ||
            open_layers(p, config, err) < 0 || open_sockets(p, config, fell, err) < 0 ||
            write_url(p, config, err) < 0)
                return -1;
        open_roots(p, config);
        return 0;
}

void cay_place_close(struct cay_place *p)
{
        const int fds[] = { p->unix_fd, p->layers_fd, p->disk_fd, p->lock_fd, p->data_fd };

        for (unsigned i = 0; i < p->tcp_count; i++)
                close(p->tcp_fds[i]);
        for (unsigned i = 0; i < p->root_count; i++)
                if (p->root_fds[i] >= 0)
                        close(p->root_fds[i]);
        if (p->unix_path[0])
                unlink(p->unix_path);
        if (p->tcp_count > 0)
                unlinkat(p->data_fd, URL, 0);
        if (p->lock_fd >= 0 && ftruncate(p->lock_fd, 0) < 0)
                cay_log_warn("the lock keeps our pid: the next start will wait for sockets in use",
                             "errno=%d", errno);
        for (unsigned i = 0; i < CAY_COUNT(fds); i++)
                if (fds[i] >= 0)
                        close(fds[i]);
}
