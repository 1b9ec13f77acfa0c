/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a build as the client wrote them. */
#include "dialects/e2b/e2b_build_steps.h"

#include <stdio.h>
#include <string.h>

#include "dialects/e2b/e2b_start.h"

const struct cay_json_value *e2b_step(const struct e2b_build *b, unsigned i)
{
        return cay_json_value_at(cay_json_value_find(cay_json_in_root(b->spec), "steps"), i);
}

const char *e2b_step_type(const struct e2b_build *b, unsigned i)
{
        return e2b_text(e2b_step(b, i), "type");
}

const char *e2b_step_arg(const struct e2b_build *b, unsigned i, size_t nr)
{
        return cay_json_value_text(cay_json_value_at(cay_json_value_find(e2b_step(b, i), "args"), nr));
}

const char *e2b_step_user(const struct e2b_build *b, const char *asked)
{
        return asked && asked[0] ? asked : b->user;
}

bool e2b_is_build_user(const char *text)
{
        return strcmp(text, "user") == 0 || strcmp(text, "root") == 0;
}

/* Whether a variable is set by the steps from..to, and behind the argument `after` of the step from. */
bool e2b_steps_set(const struct e2b_build *b, unsigned from, unsigned to, size_t after, const char *name)
{
        const char *text;

        for (unsigned i = from; i < to; i++) {
                size_t nr = i == from ? after : 0;

                for (; strcmp(e2b_step_type(b, i), "ENV") == 0 && (text = e2b_step_arg(b, i, nr)); nr += 2)
                        if (strcmp(text, name) == 0)
                                return true;
        }
        return false;
}

/* What the first `count` steps set: each variable once, as it was set last. */
void e2b_steps_put_variables(const struct e2b_build *b, struct cay_json *j, unsigned count)
{
        const char *name;

        for (unsigned i = 0; i < count; i++) {
                if (strcmp(e2b_step_type(b, i), "ENV") != 0)
                        continue;
                for (size_t nr = 0; (name = e2b_step_arg(b, i, nr)); nr += 2)
                        if (!e2b_steps_set(b, i, count, nr + 2, name))
                                cay_op_key_text(j, name, e2b_step_arg(b, i, nr + 1));
        }
}

static int check_env(const struct cay_json_value *args, unsigned nr, struct cay_error *err)
{
        size_t count = cay_json_value_count(args);

        for (size_t i = 0; i < count; i += 2) {
                const char *name = cay_json_value_text(cay_json_value_at(args, i));

                if (!name || !name[0] || strchr(name, '=') || strncmp(name, "E2B_TEMPLATE_", 13) == 0)
                        return cay_fail(err, CAY_INVALID, "steps[%u]: '%.60s' cannot be a variable's name",
                                        nr, name ? name : "");
        }
        return count % 2 == 0 ? 0 : cay_fail(err, CAY_INVALID, "steps[%u]: a variable has no value", nr);
}

static int check_user(const char *user, unsigned nr, struct cay_error *err)
{
        if (user && user[0] && !e2b_is_build_user(user))
                return cay_fail(err, CAY_UNSUPPORTED,
                                "steps[%u]: there is no user '%.60s' here; user and root are", nr, user);
        return 0;
}

static int check_copy(const struct e2b_build *b, unsigned i, struct cay_error *err)
{
        const char *hash = e2b_text(e2b_step(b, i), "filesHash"), *mode = e2b_step_arg(b, i, 3);
        const struct e2b_build_file *f = hash ? e2b_build_file_find(b, hash) : NULL;

        if (!e2b_step_arg(b, i, 1))
                return cay_fail(err, CAY_INVALID, "steps[%u]: COPY needs a source and a destination", i);
        if (mode && strspn(mode, "01234567") != strlen(mode))
                return cay_fail(err, CAY_INVALID, "steps[%u]: '%.20s' is not a mode in octal", i, mode);
        if (!f)
                return cay_fail(err, CAY_INVALID, "steps[%u]: the files of this COPY were not uploaded", i);
        return check_user(e2b_step_arg(b, i, 2), i, err);
}

static int check_step(const struct e2b_build *b, unsigned i, struct cay_error *err)
{
        const char *type = e2b_step_type(b, i);
        const struct cay_json_value *args = cay_json_value_find(e2b_step(b, i), "args");

        for (size_t nr = 0; nr < cay_json_value_count(args); nr++)
                if (!cay_json_value_text(cay_json_value_at(args, nr)))
                        return cay_fail(err, CAY_INVALID, "steps[%u]: its arguments must be texts", i);
        if (!type || !e2b_step_arg(b, i, 0))
                return cay_fail(err, CAY_INVALID, "steps[%u]: needs a type and arguments", i);
        if (strcmp(type, "ENV") == 0)
                return check_env(args, i, err);
        if (strcmp(type, "COPY") == 0)
                return check_copy(b, i, err);
        if (strcmp(type, "RUN") == 0)
                return check_user(e2b_step_arg(b, i, 1), i, err);
        if (strcmp(type, "USER") == 0)
                return check_user(e2b_step_arg(b, i, 0), i, err);
        if (strcmp(type, "WORKDIR") == 0)
                return 0;
        return cay_fail(err, CAY_UNSUPPORTED, "steps[%u]: %.40s is not supported by this server", i, type);
}

int e2b_steps_check(struct e2b_build *b, struct cay_error *err)
{
        static const char *const commands[] = { "startCmd", "readyCmd" };
        const struct cay_json_value *steps = cay_json_value_find(cay_json_in_root(b->spec), "steps");

        if (cay_json_value_count(steps) > E2B_BUILD_STEPS_MAX)
                return cay_fail(err, CAY_LIMIT, "steps: at most %u", E2B_BUILD_STEPS_MAX);
        for (unsigned i = 0; i < CAY_COUNT(commands); i++) {
                const char *text = e2b_text(cay_json_in_root(b->spec), commands[i]);

                if (text && strlen(text) >= E2B_START_MAX)
                        return cay_fail(err, CAY_LIMIT, "%s: at most %u bytes", commands[i],
                                        E2B_START_MAX - 1);
        }
        b->step_count = (unsigned)cay_json_value_count(steps);
        for (unsigned i = 0; i < b->step_count; i++)
                if (check_step(b, i, err) < 0)
                        return -1;
        return 0;
}

/* Where a path of a step leads; -1: too long. */
int e2b_step_resolve(const struct e2b_build *b, const char *path, char *ret, size_t size)
{
        int n = path[0] == '/' ? snprintf(ret, size, "%s", path)
                               : snprintf(ret, size, "%s/%s", b->workdir, path);

        return n >= (int)size ? -1 : 0;
}

void e2b_step_put_environment(const struct e2b_build *b, struct cay_json *j, bool is_root)
{
        static const char *const root[][2] = { { "HOME", "/root" },
                                               { "USER", "root" },
                                               { "LOGNAME", "root" } };

        cay_json_key(j, "env");
        cay_json_begin_object(j);
        for (unsigned i = 0; is_root && i < CAY_COUNT(root); i++)
                if (!e2b_steps_set(b, 0, b->step - 1, 0, root[i][0]))
                        cay_op_key_text(j, root[i][0], root[i][1]);
        e2b_steps_put_variables(b, j, b->step - 1);
        cay_json_end_object(j);
}

/* The sandbox has the template's variables from the start; a step has those of the steps before it. */
void e2b_step_put_unset(const struct e2b_build *b, struct cay_json *j)
{
        const char *name;

        for (unsigned i = b->step; i < b->step_count; i++) {
                if (strcmp(e2b_step_type(b, i), "ENV") != 0)
                        continue;
                for (size_t nr = 0; (name = e2b_step_arg(b, i, nr)); nr += 2) {
                        if (e2b_steps_set(b, 0, b->step - 1, 0, name))
                                continue;
                        cay_json_text(j, "-u");
                        cay_json_text(j, name);
                }
        }
}
