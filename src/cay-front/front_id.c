/* SPDX-License-Identifier: Apache-2.0 */
/* The front's own id. */
#include "cay-front/front_id.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cay/keeper/hand_over.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"

#define LOCK_TRIES 16u
#define OWN_TRIES 150u
#define OWN_NAP_MS 20
#define DEPTH_MAX 8u /* depth of folders in the state folder; there are two */

static uid_t id_at(unsigned i)
{
        return i == 0 ? CAY_FRONT_ID : CAY_FRONT_ID_MORE + i - 1;
}

bool cay_front_id_is_one(uid_t id)
{
        return id == CAY_FRONT_ID || (id >= CAY_FRONT_ID_MORE && id < CAY_FRONT_ID_MORE + CAY_FRONT_IDS - 1);
}

static int open_run_folder(const char *path)
{
        cay_auto_close int fd = -1;
        struct stat st;

        if (mkdir(path, 0700) < 0 && errno != EEXIST)
                return -errno;
        fd = sys_open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))
                return -EPERM;
        return cay_take_fd(fd);
}

/*
 * The lock's descriptor. Negative: another front has it, or the id does not exist here (the kernel refuses to
 * give it a file).
 */
static int lock(int run_fd, uid_t id)
{
        char name[32];

        snprintf(name, sizeof(name), CAY_HAND_FRONT_LOCK "%u", (unsigned)id);
        for (unsigned i = 0; i < LOCK_TRIES; i++) {
                cay_auto_close int fd = sys_open_at(run_fd, name, O_RDONLY | O_CREAT | O_NOFOLLOW, 0600);
                struct stat st;

                if (fd < 0)
                        return fd;
                if (fchown(fd, id, id) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
                        return -errno;
                if (st.st_nlink > 0) /* otherwise a keeper that stopped has removed it meanwhile */
                        return cay_take_fd(fd);
        }
        return -EAGAIN;
}

/*
 * The id that owns the state folder. Our own predecessor may have it and only now be ending, if its keeper
 * was killed. It must be gone before another front opens its files.
 */
static int wait_for(int run_fd, uid_t id)
{
        const struct timespec nap = { .tv_nsec = OWN_NAP_MS * 1000000L };
        int fd = lock(run_fd, id);

        for (unsigned i = 0; i < OWN_TRIES && fd == -EWOULDBLOCK; i++) {
                nanosleep(&nap, NULL);
                fd = lock(run_fd, id);
        }
        return fd;
}

uid_t cay_front_id_take(const char *run_folder, int data_fd, const char *state_name, int *ret_lock)
{
        cay_auto_close int run = open_run_folder(run_folder);
        struct stat st;

        *ret_lock = -1;
        if (run < 0)
                return CAY_FRONT_ID;
        if (fstatat(data_fd, state_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && cay_front_id_is_one(st.st_uid)) {
                *ret_lock = wait_for(run, st.st_uid);
                if (*ret_lock >= 0)
                        return st.st_uid;
        }
        for (unsigned i = 0; i < CAY_FRONT_IDS; i++) {
                *ret_lock = lock(run, id_at(i));
                if (*ret_lock >= 0)
                        return id_at(i);
        }
        *ret_lock = -1;
        return CAY_FRONT_ID;
}

struct giving {
        uid_t from, to;
        unsigned depth;
        int failed; /* the first -errno */
};

static void give_one(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct giving *g = ctx;
        cay_auto_close int fd = sys_open_at(dirfd, name, O_PATH | O_NOFOLLOW, 0);
        struct stat st;
        int r = 0;

        (void)type;
        if (fd < 0 || fstat(fd, &st) < 0)
                r = fd < 0 ? fd : -errno;
        else if (st.st_uid == g->from && fchownat(fd, "", g->to, g->to, AT_EMPTY_PATH) < 0)
                r = -errno;
        if (r == 0 && S_ISDIR(st.st_mode)) {
                g->depth++;
                r = g->depth > DEPTH_MAX ? -ELOOP : sys_dir_each(fd, give_one, g);
                g->depth--;
        }
        if (r < 0 && g->failed == 0)
                g->failed = r;
}

int cay_front_id_give(int folder_fd, uid_t from, uid_t to, struct cay_error *err)
{
        struct giving g = { .from = from, .to = to };
        int r = sys_dir_each(folder_fd, give_one, &g);

        if (r == 0)
                r = g.failed;
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "give the state folder's files to uid %u",
                                    (unsigned)to)
                     : 0;
}
