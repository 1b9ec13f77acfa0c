/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file `.env` in the folder in which a daemon is started: lines of NAME=VALUE.
 *
 * It may set the variables of config_keys.def that begin with one of our prefixes, and Docker's two for TLS.
 * HOST and PORT are ignored: in such a file they often belong to another program. The environment has
 * precedence. The file must belong to us or to root, and nobody else may write to it, because it configures
 * root's daemon. Somebody who may write to the folder could put another file there, but not one that belongs
 * to us. Symbolic links are not followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "domain/settings/config_priv.h"

#define FILE_MAX (64u * 1024)
#define NAME ".env"

static const char *const prefixes[] = { "CAY_", "SANDBOX_", "DOCKER_", "E2B_", "BROWSERBASE_" };
static const char *const docker_own[] = { "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH" };

static bool is_ours(const char *name)
{
        if (strcmp(name, "CAY_CONFIG") == 0) /* the choice of the settings file is made before */
                return false;
        for (unsigned i = 0; i < CAY_COUNT(prefixes); i++)
                if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
                        return true;
        return false;
}

/*
 * A quoted value, unquoted in place; NULL: the closing quote is missing. In double quotes, \" and \\ are
 * escapes.
 */
static char *unquote(char *value)
{
        char quote = *value, *to = value, *at = value + 1;

        while (*at && *at != quote) {
                if (quote == '"' && *at == '\\' && (at[1] == '"' || at[1] == '\\' || at[1] == '$'))
                        at++;
                *to++ = *at++;
        }
        if (!*at)
                return NULL;
        *to = '\0';
        return value;
}

/* Removes blanks at the end, and a comment: a # after a blank. */
static char *trim(char *value)
{
        char *end = value + strlen(value);

        for (char *at = value; *at; at++) {
                if (*at == '#' && at > value && (at[-1] == ' ' || at[-1] == '\t')) {
                        end = at;
                        break;
                }
        }
        while (end > value && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
                end--;
        *end = '\0';
        return value;
}

/* Splits a line into name and value; false: not one of our variables, or empty. */
static bool split(char *line, char **ret_name, char **ret_value)
{
        char *equals;

        line += strspn(line, " \t");
        if (strncmp(line, "export ", 7) == 0)
                line += 7 + strspn(line + 7, " \t");
        equals = strchr(line, '=');
        if (*line == '#' || !equals)
                return false;
        *equals = '\0';
        *ret_name = trim(line);
        *ret_value = equals + 1 + strspn(equals + 1, " \t");
        return is_ours(*ret_name);
}

static int set_one(struct cay_config *c, const char *name, const char *value, unsigned line,
                   struct cay_error *err)
{
        char where[96];
        int key = cay_config_find_variable(name);

        snprintf(where, sizeof(where), NAME ":%u", line);
        for (unsigned i = 0; i < CAY_COUNT(docker_own); i++)
                if (strcmp(name, docker_own[i]) == 0 && setenv(name, value, 0) < 0)
                        return cay_fail(err, CAY_INTERNAL, "no memory for " NAME);
        if (key < 0 || value[0] == '\0')
                return 0;
        return cay_config_set(c, (enum cay_config_key)key, CAY_CONFIG_FILE, where, value, err);
}

int cay_config_read_dotenv_text(struct cay_config *c, char *text, struct cay_error *err)
{
        unsigned nr = 0;

        for (char *line = text, *next; line; line = next) {
                char *name, *value;

                nr++;
                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                if (!split(line, &name, &value))
                        continue;
                value = *value == '"' || *value == '\'' ? unquote(value) : trim(value);
                if (!value)
                        return cay_fail(err, CAY_INVALID, NAME ":%u: a quotation mark is not closed", nr);
                if (set_one(c, name, value, nr, err) < 0)
                        return -1;
        }
        return 0;
}

static int check_file(const struct stat *st, struct cay_error *err)
{
        if (!S_ISREG(st->st_mode))
                return cay_fail(err, CAY_INVALID,
                                NAME " in this folder is not a plain file: start elsewhere");
        if (st->st_uid != geteuid() && st->st_uid != 0)
                return cay_fail(err, CAY_DENIED,
                                NAME
                                " in this folder is uid %u's, who would decide about this daemon: make it "
                                "your own, or start elsewhere",
                                (unsigned)st->st_uid);
        if (st->st_mode & 022)
                return cay_fail(err, CAY_DENIED,
                                NAME
                                " in this folder can be written to by others (mode %04o): chmod 600 " NAME,
                                st->st_mode & 07777);
        if (st->st_size > (off_t)FILE_MAX)
                return cay_fail(err, CAY_INVALID, NAME " in this folder is larger than %u bytes", FILE_MAX);
        return 0;
}

int cay_config_read_dotenv(struct cay_config *c, struct cay_error *err)
{
        cay_auto_close int fd = open(NAME, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
        cay_auto_free char *text = NULL;
        struct stat st;
        ssize_t n;
        int r;

        if (fd < 0 && errno == ELOOP)
                return cay_fail(err, CAY_INVALID,
                                NAME " in this folder is a link: put the file itself there");
        if (fd < 0 && errno == EACCES)
                return cay_fail_sys(err, CAY_DENIED, -EACCES, "open " NAME " in this folder");
        if (fd < 0)
                return 0;
        if (fstat(fd, &st) < 0 || check_file(&st, err) < 0)
                return -1;
        text = calloc(1, FILE_MAX + 1);
        n = text ? read(fd, text, FILE_MAX) : -1;
        if (n < 0)
                return cay_fail(err, CAY_INTERNAL, NAME " in this folder cannot be read");
        r = strlen(text) == (size_t)n
                    ? cay_config_read_dotenv_text(c, text, err)
                    : cay_fail(err, CAY_INVALID, NAME " in this folder has a NUL byte in it");
        for (unsigned key = 0; r == 0 && key < CAY_CONFIG_KEY_COUNT; key++) {
                bool is_here = c->source[key] == CAY_CONFIG_FILE && strncmp(c->where[key], NAME ":", 5) == 0;

                if (is_here && cay_config_rows[key].flags & CAY_CONFIG_SECRET && st.st_mode & 077)
                        r = cay_fail(err, CAY_DENIED,
                                     NAME
                                     " in this folder has a secret in it but can be read by others (mode "
                                     "%04o): chmod 600 " NAME,
                                     st.st_mode & 07777);
        }
        explicit_bzero(text, FILE_MAX);
        return r;
}
