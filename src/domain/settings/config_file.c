/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the settings file: lines of "key = value". Nothing is guessed. */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/utf8.h"
#include "domain/settings/config_priv.h"

struct file {
        struct cay_config *config;
        const char *name;
        unsigned line;
        unsigned seen[CAY_CONFIG_KEY_COUNT]; /* line, 0: not yet */
        char where[160];                     /* "name:line" */
        bool handed;                         /* lines tell the origin of the next value (cay_config_write) */
        enum cay_config_source source;       /* of the next value, and */
        char origin[160];                    /* its name there */
};

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *at, const char *end)
{
        while (at < end && is_blank(*at))
                at++;
        return at;
}

/* Only blanks and a comment may follow a value. */
static bool is_over(const char *at, const char *end)
{
        at = skip_blanks(at, end);
        return at == end || *at == '#';
}

static int read_quoted(struct file *f, const char *at, const char *end, char *ret, struct cay_error *err)
{
        size_t len = 0;

        for (; at < end && *at != '"'; at++) {
                if (*at == '\\') {
                        if (++at == end || (*at != '"' && *at != '\\'))
                                return cay_fail(err, CAY_INVALID, "%s: \\ may only precede \" or \\",
                                                f->where);
                }
                if (len == CAY_CONFIG_VALUE_MAX)
                        return cay_fail(err, CAY_INVALID, "%s: the value is too long", f->where);
                ret[len++] = *at;
        }
        if (at == end)
                return cay_fail(err, CAY_INVALID, "%s: the closing \" is missing", f->where);
        if (!is_over(at + 1, end))
                return cay_fail(err, CAY_INVALID, "%s: something follows the closing \"", f->where);
        ret[len] = '\0';
        return 0;
}

/* Up to a # at the start or after a blank, without blanks at the end. */
static int read_plain(struct file *f, const char *at, const char *end, char *ret, struct cay_error *err)
{
        const char *stop = at;

        while (stop < end && !(*stop == '#' && (stop == at || is_blank(stop[-1]))))
                stop++;
        while (stop > at && is_blank(stop[-1]))
                stop--;
        if (stop - at > CAY_CONFIG_VALUE_MAX)
                return cay_fail(err, CAY_INVALID, "%s: the value is too long", f->where);
        memcpy(ret, at, (size_t)(stop - at));
        ret[stop - at] = '\0';
        return 0;
}

/* "#@ flag --data": the next value's origin. Other text is an ordinary comment. */
static void read_origin(struct file *f, const char *at, const char *end)
{
        for (unsigned i = 0; i < CAY_CONFIG_SOURCE_COUNT; i++) {
                const char *word = cay_config_source_word((enum cay_config_source)i);
                size_t len = strlen(word);

                if ((size_t)(end - at) <= len || memcmp(at, word, len) != 0 || at[len] != ' ')
                        continue;
                f->source = (enum cay_config_source)i;
                snprintf(f->origin, sizeof(f->origin), "%.*s", (int)(end - at - (ssize_t)len - 1),
                         at + len + 1);
        }
}

static int set_handed(struct file *f, int key, const char *value, struct cay_error *err)
{
        int r = cay_config_set(f->config, (enum cay_config_key)key, f->source,
                               f->origin[0] ? f->origin : f->where, value, err);

        f->source = CAY_CONFIG_FILE;
        f->origin[0] = '\0';
        return r;
}

static int set_key(struct file *f, int key, const char *value, struct cay_error *err)
{
        if (key == CAY_CONFIG_KEY_config && !f->handed)
                return cay_fail(err, CAY_INVALID, "%s: a file can't name another file", f->where);
        if (f->seen[key] > 0)
                return cay_fail(err, CAY_INVALID, "%s: %s is already set in line %u", f->where,
                                cay_config_rows[key].name, f->seen[key]);
        f->seen[key] = f->line;
        if (f->handed)
                return set_handed(f, key, value, err);
        return cay_config_set(f->config, (enum cay_config_key)key, CAY_CONFIG_FILE, f->where, value, err);
}

static int read_line(struct file *f, const char *at, const char *end, struct cay_error *err)
{
        char value[CAY_CONFIG_VALUE_MAX + 1];
        const char *name, *name_end;
        int key, r;

        if (end > at && end[-1] == '\r')
                end--;
        name = skip_blanks(at, end);
        if (f->handed && end - name > (ssize_t)strlen(CAY_CONFIG_ORIGIN) &&
            memcmp(name, CAY_CONFIG_ORIGIN, strlen(CAY_CONFIG_ORIGIN)) == 0)
                read_origin(f, name + strlen(CAY_CONFIG_ORIGIN), end);
        if (name == end || *name == '#')
                return 0;
        name_end = name;
        while (name_end < end && !is_blank(*name_end) && *name_end != '=')
                name_end++;
        at = skip_blanks(name_end, end);
        if (at == end || *at != '=' || name_end == name)
                return cay_fail(err, CAY_INVALID, "%s: expected 'key = value'", f->where);
        key = cay_config_find(name, (size_t)(name_end - name));
        if (key < 0)
                return cay_config_unknown(f->where, "key", name, (size_t)(name_end - name), "", err);
        at = skip_blanks(at + 1, end);
        r = at < end && *at == '"' ? read_quoted(f, at + 1, end, value, err)
                                   : read_plain(f, at, end, value, err);
        if (r == 0)
                r = set_key(f, key, value, err);
        explicit_bzero(value, sizeof(value));
        return r;
}

static int read_text(struct file *f, const char *text, size_t len, struct cay_error *err)
{
        const char *at = text, *end = text + len, *name = f->name;

        if (len > CAY_CONFIG_FILE_MAX)
                return cay_fail(err, CAY_INVALID, "%s: has %zu bytes: at most %u", name, len,
                                CAY_CONFIG_FILE_MAX);
        if (!cay_utf8_valid(text, len) || (len > 0 && memchr(text, '\0', len)))
                return cay_fail(err, CAY_INVALID, "%s: is not plain UTF-8 text", name);
        while (at < end) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));

                if (!stop)
                        stop = end;
                f->line++;
                snprintf(f->where, sizeof(f->where), "%.140s:%u", name, f->line);
                if (read_line(f, at, stop, err) < 0)
                        return -1;
                at = stop + (stop < end);
        }
        return 0;
}

int cay_config_read_text(struct cay_config *c, const char *name, const char *text, size_t len,
                         struct cay_error *err)
{
        struct file f = { .config = c, .name = name };

        return read_text(&f, text, len, err);
}

int cay_config_read_written(struct cay_config *c, const char *text, size_t len, struct cay_error *err)
{
        struct file f = { .config = c, .name = "settings", .handed = true, .source = CAY_CONFIG_FILE };

        return read_text(&f, text, len, err);
}

static int read_all(int fd, char *buf, size_t size, size_t *ret_len)
{
        size_t len = 0;

        while (len < size) {
                ssize_t n = read(fd, buf + len, size - len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                len += (size_t)n;
        }
        *ret_len = len;
        return 0;
}

int cay_config_read_file(struct cay_config *c, const char *path, struct cay_error *err)
{
        cay_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        cay_auto_free char *text = NULL;
        size_t len = 0;
        struct stat st;
        int r;

        if (fd < 0)
                return cay_fail_sys(err, errno == ENOENT ? CAY_NOT_FOUND : CAY_INVALID, -errno,
                                    "open '%.120s'", path);
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return cay_fail(err, CAY_INVALID, "'%.120s' is not a plain file", path);
        text = malloc(CAY_CONFIG_FILE_MAX + 1); /* one byte more, to notice a file that is too big */
        if (!text)
                return cay_fail(err, CAY_INTERNAL, "no memory for '%.120s'", path);
        r = read_all(fd, text, CAY_CONFIG_FILE_MAX + 1, &len);
        if (r < 0)
                return cay_fail_sys(err, CAY_INVALID, r, "read '%.120s'", path);
        r = cay_config_read_text(c, path, text, len, err);
        /* Refuses a secret in a file that others can read. */
        if (r == 0 && c->source[CAY_CONFIG_KEY_token_secret] == CAY_CONFIG_FILE && st.st_mode & 077)
                r = cay_fail(err, CAY_DENIED,
                             "%.120s: has a secret in it but can be read by others (mode %04o): "
                             "chmod 600 it",
                             path, st.st_mode & 07777);
        explicit_bzero(text, len);
        return r;
}
