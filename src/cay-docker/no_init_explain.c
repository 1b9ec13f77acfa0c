/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker says of a start: why there was none, as an init would answer, and whether it came too late to
 * count.
 */
#include <errno.h>

#include "cay-docker/no_init.h"

/* Docker makes a directory that is not there, where that can be. */
static bool explain_directory(const struct docker_no_init *o, const char *text, struct cay_error *err)
{
        struct cay_view cwd = o->open.exec.cwd;
        const char *name = cwd.len > 0 ? cwd.ptr : "/workspace";
        int len = cwd.len > 0 && cwd.len < 64 ? (int)cwd.len : 64;

        if (!strstr(text, "chdir to cwd") && !strstr(text, ": mkdir /") && !strstr(text, "Cannot mkdir: "))
                return false;
        if (strstr(text, "permission denied")) {
                cay_fail(err, CAY_DENIED, "working directory '%.*s' is closed to this user", len, name);
                err->sys = EACCES;
        } else {
                cay_fail(err, CAY_NOT_FOUND, "working directory '%.*s' does not exist in the sandbox", len,
                         name);
                err->sys = ENOENT;
        }
        return true;
}

void docker_no_init_explain(const struct docker_no_init *o, const struct docker_call *call, bool is_made,
                            struct cay_error *err)
{
        struct cay_view strings = o->open.exec.args, name = cay_box_next_string(&strings);
        const char *text = cay_buf_data(&call->body);
        int len = name.len < 64 ? (int)name.len : 64;

        if (call->status != 400 && call->status != 404 && call->status != 500)
                return;
        if (explain_directory(o, text, err) || !is_made)
                return;
        if (strstr(text, "executable file not found") || strstr(text, "no such file or directory")) {
                cay_fail(err, CAY_NOT_FOUND, "command '%.*s' was not found in the sandbox", len, name.ptr);
                err->sys = ENOENT;
        } else if (strstr(text, "permission denied")) {
                cay_fail(err, CAY_DENIED, "command '%.*s' is not executable for this user", len, name.ptr);
                err->sys = EACCES;
        } else if (strstr(text, "argument list too long")) {
                cay_fail(err, CAY_LIMIT, "the arguments of '%.*s' are too long", len, name.ptr);
                err->sys = E2BIG;
        }
}

/*
 * Docker was asked to start it, and did not answer, or only when it was asked again: it may have begun to
 * run, and its streams, which broke meanwhile, do not come again. (They end before the answer also where it
 * was over at once: then one question was enough.)
 */
bool docker_no_init_is_cut(const struct docker_no_init *o, const struct docker_call *start)
{
        return start->status == 0 ||
               (start->tries > 1 && !o->docker && (start->status == 204 || start->status == 304));
}
