/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine's table in Docker's words. */
#include "cay-docker/seccomp.h"

#include <errno.h>
#include <stddef.h>

#include "foundation/base/json_out.h"
#include "cay-docker/seccomp_args.h"

struct row {
        const char *name;
        int error;  /* 0: it passes */
        bool looks; /* at arguments */
};

/* Only the names are of use here: what a row tests is the inner filter's business, or seccomp_args.c's. */
static const struct row rows[] = {
#define CAY_SC_ALLOW(call) { #call, 0 },
#define CAY_SC_ARGS(call, otherwise, why, ...) { #call, 0, true },
#define CAY_SC_ERRNO(call, error, why) { #call, error },
#define CAY_SC_DENY(call) { #call, EPERM },
#define CAY_SC_NUMBER(call, nr)
#define CAY_SC_BEYOND(error)
#include "cay-init/seccomp_policy.def"
#undef CAY_SC_ALLOW
#undef CAY_SC_ARGS
#undef CAY_SC_ERRNO
#undef CAY_SC_DENY
#undef CAY_SC_NUMBER
#undef CAY_SC_BEYOND
};

/*
 * cay-init's own: landlock and ids for commands, files below a descriptor, Docker's runtime on its way to the
 * program.
 */
static const char *const init_needs[] = { "landlock_create_ruleset",
                                          "landlock_add_rule",
                                          "landlock_restrict_self",
                                          "openat2",
                                          "fchmodat2",
                                          "faccessat2",
                                          "execveat",
                                          "setgroups",
                                          "capset",
                                          NULL };

static bool is_needed(const char *name)
{
        for (const char *const *n = init_needs; *n; n++)
                if (strcmp(*n, name) == 0)
                        return true;
        return false;
}

static void put_text(struct cay_json *j, const char *key, const char *text)
{
        cay_json_key(j, key);
        cay_json_text(j, text);
}

static void begin_rule(struct cay_json *j)
{
        cay_json_begin_object(j);
        cay_json_key(j, "names");
        cay_json_begin_array(j);
}

static void end_rule(struct cay_json *j, int error)
{
        cay_json_end_array(j);
        put_text(j, "action", error ? "SCMP_ACT_ERRNO" : "SCMP_ACT_ALLOW");
        if (error) {
                cay_json_key(j, "errnoRet");
                cay_json_u64(j, (unsigned)error);
        }
        cay_json_end_object(j);
}

static void put_allowed(struct cay_json *j, bool has_init)
{
        begin_rule(j);
        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (rows[i].error == 0 && (has_init ? !is_needed(rows[i].name) : !rows[i].looks))
                        cay_json_text(j, rows[i].name);
        for (const char *const *n = init_needs; has_init && *n; n++)
                cay_json_text(j, *n);
        end_rule(j, 0);
}

static void put_refused(struct cay_json *j, bool has_init)
{
        static const int errors[] = { ENOSYS,
                                      EOPNOTSUPP }; /* EPERM is what every other call is answered with */

        for (unsigned e = 0; e < CAY_COUNT(errors); e++) {
                begin_rule(j);
                for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                        if (rows[i].error == errors[e] && !(has_init && is_needed(rows[i].name)))
                                cay_json_text(j, rows[i].name);
                end_rule(j, errors[e]);
        }
}

int docker_seccomp_put(struct cay_buf *out, bool has_init)
{
        struct cay_json json, *j = &json;
        int r = cay_buf_puts(out, "seccomp=");

        if (r < 0)
                return r;
        cay_json_init(j, out);
        cay_json_begin_object(j);
        put_text(j, "defaultAction", "SCMP_ACT_ERRNO");
        cay_json_key(
                j,
                "syscalls"); /* no list of architectures: Docker's own one alone, so no 32-bit or x32 calls */
        cay_json_begin_array(j);
        put_allowed(j, has_init);
        put_refused(j, has_init);
        if (!has_init)
                r = docker_seccomp_put_args(j);
        cay_json_end_array(j);
        cay_json_end_object(j);
        return r < 0 ? r : cay_json_end(j);
}
