/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the environment and the command line, and all sources in order. */

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "domain/settings/config_priv.h"

enum { NAME_LONGEST = 48 };

/* The value of the variable `name` in env; NULL: missing or empty. */
static char *find_env(char **env, const char *name, size_t len)
{
        for (; env && *env; env++) {
                if (strncmp(*env, name, len) == 0 && (*env)[len] == '=' && (*env)[len + 1] != '\0')
                        return *env + len + 1;
        }
        return NULL;
}

/* CAY_NAME first, then the variables that the row names. */
static char *find_row(char **env, const struct cay_config_row *row, char ret_name[NAME_LONGEST + 1])
{
        const char *at = row->env;
        char *value;

        snprintf(ret_name, NAME_LONGEST + 1, "CAY_%s", row->name);
        for (char *c = ret_name; *c; c++)
                *c = (char)toupper((unsigned char)*c);
        value = find_env(env, ret_name, strlen(ret_name));
        while (!value && *at) {
                size_t len = strcspn(at, " ");

                snprintf(ret_name, NAME_LONGEST + 1, "%.*s", (int)len, at);
                value = find_env(env, ret_name, strlen(ret_name));
                at += len;
                at += strspn(at, " ");
        }
        return value;
}

int cay_config_find_variable(const char *name)
{
        char line[NAME_LONGEST + 3], found[NAME_LONGEST + 1];
        char *env[] = { line, NULL };

        if (strlen(name) > NAME_LONGEST)
                return -1;
        snprintf(line, sizeof(line), "%s=1", name);
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++)
                if (find_row(env, &cay_config_rows[key], found))
                        return (int)key;
        return -1;
}

/* Wipes every copy of a secret, used or not. */
static void wipe_secrets(char **env)
{
        char name[NAME_LONGEST + 1], *value;

        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++) {
                if (!(cay_config_rows[key].flags & CAY_CONFIG_SECRET))
                        continue;
                while ((value = find_row(env, &cay_config_rows[key], name)))
                        explicit_bzero(value, strlen(value));
        }
}

static int read_rows(struct cay_config *c, char **env, struct cay_error *err)
{
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++) {
                char name[NAME_LONGEST + 1];
                const char *value = find_row(env, &cay_config_rows[key], name);

                if (value && cay_config_set(c, key, CAY_CONFIG_ENV, name, value, err) < 0)
                        return -1;
        }
        return 0;
}

int cay_config_read_env(struct cay_config *c, char **env, struct cay_error *err)
{
        int r = read_rows(c, env, err);

        wipe_secrets(env);
        return r;
}

/*
 * A path on the command line is relative to the working folder. In a file or variable, a relative path would
 * be ambiguous.
 */
static int set_path(struct cay_config *c, enum cay_config_key key, const char *where, const char *value,
                    struct cay_error *err)
{
        char here[PATH_MAX], path[2 * PATH_MAX];

        if (value[0] == '/' || value[0] == '\0')
                return cay_config_set(c, key, CAY_CONFIG_FLAG, where, value, err);
        if (!getcwd(here, sizeof(here)))
                return cay_fail_sys(err, CAY_INVALID, -errno, "%s: find '%.80s'", where, value);
        if (snprintf(path, sizeof(path), "%s/%s", here, value) >= PATH_MAX)
                return cay_fail(err, CAY_INVALID, "%s: the path is too long", where);
        return cay_config_set(c, key, CAY_CONFIG_FLAG, where, path, err);
}

static int read_flag(struct cay_config *c, int argc, char **argv, int *i, struct cay_error *err)
{
        const char *name = argv[*i] + 2, *equals = strchr(name, '='), *value;
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        int key = cay_config_find(name, len);
        char where[NAME_LONGEST + 4];

        if (key < 0)
                return cay_config_unknown("command line", "option", name, len, "--", err);
        snprintf(where, sizeof(where), "--%.*s", (int)(len < NAME_LONGEST ? len : NAME_LONGEST), name);
        if (cay_config_rows[key].flags & CAY_CONFIG_SECRET)
                return cay_fail(err, CAY_INVALID,
                                "%s: everybody on this machine can read a command line, so a secret must not "
                                "be in it; use the variable or the file",
                                where);
        value = equals ? equals + 1 : *i + 1 < argc ? argv[*i + 1] : NULL;
        if (cay_config_rows[key].kind == CAY_CONFIG_BOOL && !equals)
                value = "true";
        else if (!equals)
                *i += 1;
        if (!value)
                return cay_fail(err, CAY_INVALID, "%s: a value is missing", where);
        *i += 1;
        if (cay_config_rows[key].kind == CAY_CONFIG_PATH)
                return set_path(c, (enum cay_config_key)key, where, value, err);
        return cay_config_set(c, (enum cay_config_key)key, CAY_CONFIG_FLAG, where, value, err);
}

static bool is_flag(const char *word)
{
        return word[0] == '-' && word[1] == '-' && word[2] != '\0';
}

int cay_config_read_args(struct cay_config *c, int argc, char **argv, int *ret_rest, struct cay_error *err)
{
        int i = 1;

        while (i < argc && is_flag(argv[i])) {
                if (strcmp(argv[i], "--help") == 0)
                        return 1;
                if (read_flag(c, argc, argv, &i, err) < 0)
                        return -1;
        }
        if (i < argc && strcmp(argv[i], "--") == 0)
                i++;
        *ret_rest = i;
        return 0;
}

/* The file is read first, but flags and environment name it: looks ahead at argv and env. */
static int read_file(struct cay_config *c, int argc, char **argv, char **env, struct cay_error *err)
{
        char name[NAME_LONGEST + 1];
        const char *path = find_row(env, &cay_config_rows[CAY_CONFIG_KEY_config], name);
        int r;

        for (int i = 1; i < argc && is_flag(argv[i]); i++) {
                if (strncmp(argv[i], "--config=", 9) == 0)
                        path = argv[i] + 9;
                else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
                        path = argv[++i];
                else if (!strchr(argv[i], '=') && i + 1 < argc && !is_flag(argv[i + 1]))
                        i++; /* its value */
        }
        if (path && path[0] != '\0')
                return cay_config_read_file(c, path, err);
        r = cay_config_read_file(c, CAY_CONFIG_FILE_PATH, err);
        if (r < 0 && err->code == CAY_NOT_FOUND) {
                *err = (struct cay_error){ 0 };
                return 0;
        }
        return r;
}

static int load(struct cay_config *c, bool here, int argc, char **argv, char **env, int *ret_rest,
                struct cay_error *err)
{
        int r;

        if (cay_config_init(c, err) < 0)
                return -1;
        r = read_file(c, argc, argv, env, err);
        if (r == 0 && here)
                r = cay_config_read_dotenv(c, err);
        if (r == 0)
                r = cay_config_read_env(c, env, err);
        else
                wipe_secrets(env);
        if (r == 0)
                r = cay_config_read_args(c, argc, argv, ret_rest, err);
        if (r == 0)
                r = cay_config_check(c, err);
        if (r < 0)
                cay_config_done(c);
        return r;
}

int cay_config_load(struct cay_config *c, int argc, char **argv, char **env, int *ret_rest,
                    struct cay_error *err)
{
        return load(c, false, argc, argv, env, ret_rest, err);
}

int cay_config_load_here(struct cay_config *c, int argc, char **argv, char **env, int *ret_rest,
                         struct cay_error *err)
{
        return load(c, true, argc, argv, env, ret_rest, err);
}
