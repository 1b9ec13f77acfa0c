/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, keeps and hands over the registry. Nothing here parses the text. */
#include "cay/keeper/registry_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/path.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static void let_go(struct cay_registry_text *t)
{
        if (t->fd >= 0)
                close(t->fd);
        if (t->folder >= 0)
                close(t->folder);
        *t = (struct cay_registry_text){ -1, -1 };
}

/* Reads one byte more than the maximum, to notice a file that is too big. */
static int copy_text(int from, int *ret_fd)
{
        cay_auto_free char *text = malloc(CAY_HAND_REGISTRY_MAX + 2);
        cay_auto_close int fd = -1;
        ssize_t n;
        int r;

        if (!text)
                return -ENOMEM;
        n = sys_read_fd(from, text, CAY_HAND_REGISTRY_MAX + 2);
        if (n < 0)
                return (int)n;
        if (n > (ssize_t)CAY_HAND_REGISTRY_MAX)
                return -EFBIG;
        fd = memfd_create("cay-registry", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        r = fd < 0 ? -errno : sys_write_all(fd, text, (size_t)n);
        if (r == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
                r = -errno;
        if (r == 0)
                *ret_fd = cay_take_fd(fd);
        return r;
}

static int open_folder(const char *path)
{
        char folder[4096];
        int n = snprintf(folder, sizeof(folder), "%.*s", (int)(cay_path_base(path) - path), path);

        if (n <= 0 || n >= (int)sizeof(folder))
                return -ENAMETOOLONG;
        return sys_open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
}

int cay_registry_keep_read(struct cay_registry_keep *k, const char *path, struct cay_error *err)
{
        cay_auto_close int from = -1, fd = -1, folder = -1;
        struct stat st;
        int r;

        if (path[0] == '\0')
                return 0;
        from = sys_open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0); /* opening a FIFO must not block */
        if (from < 0)
                return cay_fail_sys(err, from == -ENOENT ? CAY_NOT_FOUND : CAY_INVALID, from,
                                    "registry %.150s", path);
        if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
                return cay_fail(err, CAY_INVALID, "registry %.150s: not a regular file", path);
        folder = open_folder(path);
        r = folder < 0 ? folder : copy_text(from, &fd);
        if (r == -EFBIG)
                return cay_fail(err, CAY_INVALID, "registry %.150s: has more than %u bytes; split it", path,
                                CAY_HAND_REGISTRY_MAX);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "registry %.150s", path);
        let_go(&k->next);
        k->next = (struct cay_registry_text){ cay_take_fd(fd), cay_take_fd(folder) };
        k->serial++;
        k->was_sent = false;
        return 0;
}

int cay_registry_keep_folder(const struct cay_registry_keep *k)
{
        return k->next.fd >= 0 ? k->next.folder : k->good.folder;
}

int cay_registry_keep_send(struct cay_registry_keep *k, int sock)
{
        const struct cay_registry_text *t = k->next.fd >= 0 ? &k->next : &k->good;
        struct cay_hand_registry say = { .magic = CAY_HAND_MAGIC, .size = sizeof(say), .serial = k->serial };
        cay_auto_close int usr = sys_open_at(AT_FDCWD, "/usr", O_PATH | O_DIRECTORY, 0);
        int fds[3];
        unsigned count = 0;
        ssize_t n;

        if (usr >= 0) {
                say.has_usr = 1;
                fds[count++] = usr;
        }
        if (t->fd >= 0) {
                say.has_text = 1;
                fds[count++] = t->fd;
                fds[count++] = t->folder;
        }
        n = sys_send_fds(sock, &say, sizeof(say), fds, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
                return (int)n;
        k->was_sent = true;
        return 0;
}

void cay_registry_keep_before_front(struct cay_registry_keep *k)
{
        if (k->was_sent && k->good.fd >= 0)
                let_go(&k->next);
}

void cay_registry_keep_on_verdict(struct cay_registry_keep *k, const struct cay_hand_verdict *v)
{
        if (k->next.fd < 0 || v->serial != k->serial)
                return;
        if (v->taken) {
                let_go(&k->good);
                k->good = k->next;
                k->next = (struct cay_registry_text){ -1, -1 };
        } else if (k->good.fd >= 0) {
                let_go(&k->next);
        }
}

void cay_registry_keep_done(struct cay_registry_keep *k)
{
        let_go(&k->good);
        let_go(&k->next);
}
