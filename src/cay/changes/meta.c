/* SPDX-License-Identifier: Apache-2.0 */
/* The text file of a kept run. */
#include "cay/changes/meta.h"

#include <errno.h>
#include <inttypes.h>

#include "foundation/base/files_text.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define HEAD "cay-run 1\n"

static const char *const states[] = { [CAY_META_RUNNING] = "running", [CAY_META_KEPT] = "kept" };

int cay_meta_format(const struct cay_meta *m, struct cay_buf *ret)
{
        char folder[3 * PATH_MAX + 1], command[3 * CAY_META_COMMAND + 1];

        cay_files_escape(m->folder, strlen(m->folder), folder, sizeof(folder));
        cay_files_escape(m->command, strlen(m->command), command, sizeof(command));
        return cay_buf_printf(ret,
                              HEAD "id %s\nstate %s\nfolder %s\nfolder-dev %" PRIu64 "\nfolder-ino %" PRIu64
                                   "\ncommand %s\nstarted %" PRIu64 "\nexpires %" PRIu64 "\nbegan %" PRIu64
                                   "\nadded %" PRIu64 "\nchanged %" PRIu64 "\nremoved %" PRIu64
                                   "\nbytes %" PRIu64 "\nleft-out %" PRIu64 "\n",
                              m->id, states[m->state], folder, m->folder_dev, m->folder_ino, command,
                              m->started_ms, m->expires_ms, (uint64_t)m->began_ns, m->counts.added,
                              m->counts.changed, m->counts.removed, m->counts.bytes, m->left_out);
}

/* The value of the next line, which must have this key; NULL: it has not. Lines are terminated in place. */
static char *line(char **at, const char *key)
{
        size_t len = strlen(key);
        char *value = *at + len + 1, *end;

        if (strncmp(*at, key, len) != 0 || (*at)[len] != ' ')
                return NULL;
        end = strchr(value, '\n');
        if (end == NULL)
                return NULL;
        *end = '\0';
        *at = end + 1;
        return value;
}

static int number(char **at, const char *key, uint64_t *ret)
{
        const char *value = line(at, key);

        return value != NULL ? cay_parse_u64(value, ret) : -EINVAL;
}

static int hex_of(char c)
{
        return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int text(char **at, const char *key, char *ret, size_t size)
{
        const char *value = line(at, key);
        size_t n = 0;

        for (; value != NULL && *value; value++) {
                int c = (unsigned char)*value;

                if (c == '%') {
                        int high = hex_of(value[1]), low = high < 0 ? -1 : hex_of(value[2]);

                        if (low < 0 || high * 16 + low == 0)
                                return -EINVAL;
                        c = high * 16 + low;
                        value += 2;
                }
                if (n + 1 >= size)
                        return -EINVAL;
                ret[n++] = (char)c;
        }
        ret[n] = '\0';
        return value != NULL ? 0 : -EINVAL;
}

static int state(char **at, enum cay_meta_state *ret)
{
        const char *value = line(at, "state");

        for (unsigned i = 0; value != NULL && i < CAY_COUNT(states); i++) {
                if (strcmp(value, states[i]) == 0) {
                        *ret = (enum cay_meta_state)i;
                        return 0;
                }
        }
        return -EINVAL;
}

static int parse(char *at, struct cay_meta *m)
{
        uint64_t began;

        if (!cay_str_starts(at, HEAD))
                return -EINVAL;
        at += sizeof(HEAD) - 1;
        if (text(&at, "id", m->id, sizeof(m->id)) < 0 || state(&at, &m->state) < 0 ||
            text(&at, "folder", m->folder, sizeof(m->folder)) < 0 ||
            number(&at, "folder-dev", &m->folder_dev) < 0 || number(&at, "folder-ino", &m->folder_ino) < 0 ||
            text(&at, "command", m->command, sizeof(m->command)) < 0 ||
            number(&at, "started", &m->started_ms) < 0 || number(&at, "expires", &m->expires_ms) < 0 ||
            number(&at, "began", &began) < 0 || number(&at, "added", &m->counts.added) < 0 ||
            number(&at, "changed", &m->counts.changed) < 0 ||
            number(&at, "removed", &m->counts.removed) < 0 || number(&at, "bytes", &m->counts.bytes) < 0 ||
            number(&at, "left-out", &m->left_out) < 0)
                return -EINVAL;
        m->began_ns = (int64_t)began;
        return *at == '\0' && began <= INT64_MAX && cay_id_is_valid(m->id) && m->folder[0] == '/' ? 0
                                                                                                  : -EINVAL;
}

int cay_meta_parse(const char *bytes, size_t len, struct cay_meta *ret)
{
        cay_auto_free char *copy = NULL;
        cay_auto_free struct cay_meta *m = calloc(1, sizeof(*m));
        int r;

        if (len > CAY_META_MAX || memchr(bytes, '\0', len) != NULL)
                return -EINVAL;
        copy = strndup(bytes, len);
        if (copy == NULL || m == NULL)
                return -ENOMEM;
        r = parse(copy, m);
        if (r == 0)
                *ret = *m;
        return r;
}

static bool needs_quotes(const char *word)
{
        return word[0] == '\0' || strpbrk(word, " \t\n'\"\\$`*?[]{}()<>|&;~#!") != NULL;
}

void cay_meta_set_command(struct cay_meta *m, const char *const *argv)
{
        char *at = m->command, *end = at + sizeof(m->command);

        for (; *argv != NULL && end - at > 1; argv++) {
                const char *quote = needs_quotes(*argv) ? "'" : "";
                int n = snprintf(at, (size_t)(end - at), "%s%s%s%s", at > m->command ? " " : "", quote, *argv,
                                 quote);

                at = n < end - at ? at + n : end - 1;
        }
        if (*argv != NULL || at == end - 1)
                memcpy(m->command + sizeof(m->command) - 4, "...", 4);
        for (at = m->command; *at; at++)
                if ((unsigned char)*at < ' ' || *at == 0x7f)
                        *at = '?';
}
