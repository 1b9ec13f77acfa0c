/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request to the warden, through everything that decides before anything is made: the policy
 * table, then the checks of a plan. Input: how many descriptors and in which state, of which kinds, what the
 * host can hold; then the message. What passes must be what the checks promise: a valid id, known flags,
 * limits in range, descriptors of the right kind.
 */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/must.h"
#include "cay-warden/make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4, KINDS = 4 };

#define DISK_MAX (1ull << 46) /* 64 TiB: no limit is larger */

/* A socket, a folder, a file, a device. */
static const int *kinds(void)
{
        static int fds[KINDS] = { -1 };
        int pair[2];

        if (fds[0] < 0) {
                must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
                close(pair[1]);
                fds[0] = pair[0];
                fds[1] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                fds[2] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
                fds[3] = open("/dev/null", O_RDWR | O_CLOEXEC);
        }
        return fds;
}

static bool is_kind(int fd, mode_t kind)
{
        struct stat st;

        return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static void check_error(const struct cay_error *err)
{
        must(err->code != CAY_OK && err->code < CAY_CODE_COUNT);
        must(err->msg[0] && memchr(err->msg, 0, sizeof(err->msg)));
}

static void one_plan(struct warden *w, const struct wire_plan *p, const int *fds, unsigned count)
{
        struct cay_error err = { 0 };
        struct warden_given given = {
                .link = -1, .rootfs = -1, .folder = -1, .peer = -1, .workspace = { .fd = -1 }
        };
        bool by_folder = p->flags & WIRE_PLAN_WORKSPACE && !(p->flags & WIRE_PLAN_WORKSPACE_BELOW);
        unsigned skipped = ~0u;

        if (warden_make_check_plan(w, p, fds, count, &given, &err) < 0) {
                check_error(&err);
                return;
        }
        must(err.code == CAY_OK);
        must(memchr(p->id, 0, sizeof(p->id)) && cay_id_is_valid(p->id) && !strchr(p->id, '/') &&
             p->id[0] != '.');
        must(!(p->flags & ~(uint32_t)WIRE_PLAN_ALL));
        must(p->memory_bytes <= DISK_MAX && p->swap_bytes <= DISK_MAX && p->disk_bytes <= DISK_MAX);
        must(p->pids <= 4194304 && p->cpu_milli <= 1024000 && p->inodes <= 1ull << 32);
        must(is_kind(given.link, S_IFSOCK));
        must((given.rootfs >= 0) == !!(p->flags & WIRE_PLAN_ROOTFS) &&
             (given.rootfs < 0 || is_kind(given.rootfs, S_IFDIR)));
        must((given.folder >= 0) == by_folder && (given.folder < 0 || is_kind(given.folder, S_IFDIR)));
        must((given.peer >= 0) == !!(p->flags & WIRE_PLAN_WORKSPACE_PEER) &&
             (given.peer < 0 || is_kind(given.peer, S_IFSOCK)));
        must((given.workspace.fd >= 0) == !!(p->flags & WIRE_PLAN_WORKSPACE));
        must(given.workspace.fd < 0 || is_kind(given.workspace.fd, S_IFDIR));
        warden_workspace_close(&given.workspace);
        must(1u + (given.rootfs >= 0) + (given.folder >= 0) + (given.peer >= 0) == count);
        if (warden_make_check_limits(w, p, &skipped, &err) < 0) {
                check_error(&err);
                must(err.code == CAY_UNSUPPORTED);
                return;
        }
        must(!(skipped & ~p->may_skip) && !(skipped & w->can_hold)); /* nothing is dropped in silence */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct warden w;
        const struct wire_request *req;
        unsigned state, count;
        int fds[4];
        void *exact;

        if (size < HEAD)
                return 0;
        state = data[0] & 3;
        count = data[0] >> 2 & 31;
        for (unsigned i = 0; i < 4; i++)
                fds[i] = kinds()[data[1] >> 2 * i & 3];
        w.can_hold = data[2];
        data += HEAD;
        size -= HEAD;
        exact = malloc(size ? size : 1); /* one byte too far is seen */
        must(exact);
        memcpy(exact, data, size);
        req = exact;
        if (helper_request_check(&wire_protocol, req, (int64_t)size, count, state) == 0) {
                must(size == sizeof(*req) && req->seq != 0 && count <= 4 && state != 0);
                must(req->type > WIRE_NONE && req->type < WIRE_TYPE_COUNT);
                must(strcmp(helper_request_name(&wire_protocol, req->type), "?") != 0);
                must((req->type == WIRE_hello) == !(state & HELPER_READY) ||
                     state == (HELPER_FRESH | HELPER_READY));
                if (req->type == WIRE_box_make)
                        one_plan(&w, &req->plan, fds, count);
        }
        free(exact);
        return 0;
}
