/* SPDX-License-Identifier: Apache-2.0 */
/* `cay create`: its row, and a local folder that is passed as a descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cay/cli/cli.h"
#include "cay/cli/confirm.h"
#include "cay/cli/verb.h"
#include "domain/model/spec.h"
#include "foundation/sys/fd.h"

struct workspace {
        char path[PATH_MAX];
        char mode[4];
        int fd; /* -1: the daemon finds it by its path */
};

static void put_mode(struct workspace *w, enum cay_workspace_mode mode)
{
        snprintf(w->mode, sizeof(w->mode), "%s",
                 mode == CAY_WORKSPACE_RO   ? "ro"
                 : mode == CAY_WORKSPACE_RW ? "rw"
                                            : "cow");
}

/*
 * Over the socket the folder is opened here, with our own rights, and passed along; otherwise the daemon must
 * know it.
 */
static int open_workspace(const struct cay_reach *reach, const char *text, struct workspace *w,
                          struct cay_error *err)
{
        enum cay_workspace_mode mode;
        cay_auto_free char *dir = NULL;
        size_t len;

        if (cay_spec_parse_workspace(text, &len, &mode, err) < 0)
                return cay_wrap(err, "--workspace");
        put_mode(w, mode);
        dir = strndup(text, len);
        if (dir == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        if (reach->client.url.kind != CAY_URL_UNIX) {
                snprintf(w->path, sizeof(w->path), "%s", dir);
                return 0;
        }
        if (realpath(dir, w->path) == NULL)
                return cay_fail_sys(err, CAY_INVALID, -errno, "--workspace: find '%.120s'", dir);
        w->fd = sys_open_at(AT_FDCWD, w->path, O_RDONLY | O_DIRECTORY, 0);
        return w->fd < 0 ? cay_fail_sys(err, CAY_INVALID, w->fd, "--workspace: open '%.120s'", dir) : 0;
}

static int create(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        struct workspace w = { .fd = -1 };
        int r = 0;

        if (a->workspace != NULL) {
                r = open_workspace(reach, a->workspace, &w, err);
                if (r == 0)
                        r = cay_values_set(&a->values, "workspace.path", w.path, err);
                if (r == 0)
                        r = cay_values_set(&a->values, "workspace.mode", w.mode, err);
        }
        if (r == 0)
                r = cay_confirm_call(reach, a, w.fd, &answer, err);
        if (w.fd >= 0)
                close(w.fd);
        if (r == 0)
                r = cay_verb_print(a, answer.json, err);
        return r < 0 ? -1 : cay_verb_flush(err);
}

int cay_cmd_create(int argc, char **argv)
{
        return cay_verb_main(argc, argv, create);
}
