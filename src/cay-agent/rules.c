/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define WORDS_MAX 4u

static const char *const modes[] = {
        [CAY_WORKSPACE_RO] = "ro", [CAY_WORKSPACE_RW] = "rw", [CAY_WORKSPACE_COW] = "cow"
};

void agent_rules_init(struct agent_rules *r)
{
        *r = (struct agent_rules){ .sandboxes = AGENT_ALLOW, .store = -1 };
}

void agent_rules_done(struct agent_rules *r)
{
        for (unsigned i = 0; i < r->folder_count; i++)
                close(r->folders[i].fd);
        if (r->store >= 0)
                close(r->store);
        agent_rules_init(r);
}

/* Reading */

static bool read_verdict(const char *word, bool may_deny, enum agent_verdict *ret)
{
        if (strcmp(word, "allow") == 0)
                *ret = AGENT_ALLOW;
        else if (strcmp(word, "ask") == 0)
                *ret = AGENT_PROMPT;
        else if (may_deny && strcmp(word, "deny") == 0)
                *ret = AGENT_DENY;
        else
                return false;
        return true;
}

static bool read_mode(const char *word, enum cay_workspace_mode *ret)
{
        for (unsigned i = 0; i < CAY_COUNT(modes); i++)
                if (modes[i] && strcmp(word, modes[i]) == 0) {
                        *ret = (enum cay_workspace_mode)i;
                        return true;
                }
        return false;
}

/* Absolute, and each name in it is one: no ".", "..", or doubled slash. */
static bool is_plain_path(const char *path)
{
        const char *at = path;

        if (path[0] != '/' || strnlen(path, sizeof(((struct agent_folder *)0)->path)) >=
                                      sizeof(((struct agent_folder *)0)->path))
                return false;
        if (path[1] == '\0')
                return true;
        while (*at) {
                size_t len = strcspn(++at, "/");

                if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
                        return false;
                at += len;
        }
        return true;
}

static int add_folder(struct agent_rules *r, char *const *words, unsigned count, struct cay_error *err)
{
        struct agent_folder *f = &r->folders[r->folder_count];

        if (r->folder_count == AGENT_RULES_MAX)
                return cay_fail(err, CAY_LIMIT, "more than %u folders", AGENT_RULES_MAX);
        *f = (struct agent_folder){ .fd = -1 };
        if (count < 3 || count > 4 || !read_mode(words[2], &f->most) ||
            !read_verdict(count == 4 ? words[3] : "allow", false, &f->verdict))
                return cay_fail(err, CAY_INVALID, "write: folder PATH ro|cow|rw [allow|ask]");
        if (!is_plain_path(words[1]))
                return cay_fail(err, CAY_INVALID,
                                "folder: '%.150s' must be an absolute path of at most 1,023 bytes, without "
                                "'.' or '..' or a slash at its end",
                                words[1]);
        for (unsigned i = 0; i < r->folder_count; i++)
                if (strcmp(r->folders[i].path, words[1]) == 0)
                        return cay_fail(err, CAY_EXISTS, "folder: '%.150s' has a rule already", words[1]);
        cay_str_copy(f->path, sizeof(f->path), words[1]);
        f->fd = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (f->fd < 0)
                return cay_fail_sys(err, CAY_NOT_FOUND, -errno, "open the folder '%.150s'", f->path);
        r->folder_count++;
        return 0;
}

/* Each parser refuses what overflows. */
static int add_most(struct agent_rules *r, char *const *words, unsigned count, struct cay_error *err)
{
        const struct {
                const char *word;
                int (*parse)(const char *text, uint64_t *ret);
                uint64_t *value;
        } rows[] = {
                { "memory", cay_parse_size, &r->most.memory_bytes },
                { "cpus", cay_parse_milli, &r->most.cpu_milli },
                { "pids", cay_parse_u64, &r->most.pids },
                { "disk", cay_parse_size, &r->most.disk_bytes },
                { "sandboxes", cay_parse_u64, &r->most.sandboxes },
        };

        for (unsigned i = 0; count == 3 && i < CAY_COUNT(rows); i++)
                if (strcmp(words[1], rows[i].word) == 0 && rows[i].parse(words[2], rows[i].value) == 0 &&
                    *rows[i].value > 0)
                        return 0;
        return cay_fail(err, CAY_INVALID,
                        "write: most memory SIZE, most cpus NUMBER, most pids NUMBER, most disk SIZE or most "
                        "sandboxes NUMBER, each more than 0");
}

static int read_line(struct agent_rules *r, char *line, struct cay_error *err)
{
        char *words[WORDS_MAX + 1], *rest = line;
        unsigned count = 0;

        line[strcspn(line, "#")] = '\0';
        for (char *word; count <= WORDS_MAX && (word = strtok_r(rest, " \t\r", &rest));)
                words[count++] = word;
        if (count == 0)
                return 0;
        if (strcmp(words[0], "folder") == 0)
                return add_folder(r, words, count, err);
        if (strcmp(words[0], "most") == 0)
                return add_most(r, words, count, err);
        if (strcmp(words[0], "sandboxes") == 0)
                return count == 2 && read_verdict(words[1], true, &r->sandboxes)
                               ? 0
                               : cay_fail(err, CAY_INVALID, "write: sandboxes allow|ask|deny");
        if (strcmp(words[0], "commands") != 0)
                return cay_fail(err, CAY_INVALID,
                                "'%.40s' is unknown: there are sandboxes, commands, folder and most",
                                words[0]);
        r->as_user = count == 2 && strcmp(words[1], "user") == 0;
        return r->as_user || (count == 2 && strcmp(words[1], "isolated") == 0)
                       ? 0
                       : cay_fail(err, CAY_INVALID, "write: commands isolated|user");
}

int agent_rules_parse(struct agent_rules *r, const char *text, struct cay_error *err)
{
        char line[AGENT_RULE_TEXT];

        for (unsigned number = 1; *text; number++) {
                size_t len = strcspn(text, "\n");

                if (len >= sizeof(line))
                        return cay_fail(err, CAY_INVALID, "line %u: longer than %zu bytes", number,
                                        sizeof(line) - 1);
                memcpy(line, text, len);
                line[len] = '\0';
                if (read_line(r, line, err) < 0) {
                        char where[32];

                        snprintf(where, sizeof(where), "line %u", number);
                        return cay_wrap(err, "%s", where);
                }
                text += len + (text[len] == '\n');
        }
        if (r->as_user && (r->most.memory_bytes || r->most.cpu_milli || r->most.pids || r->most.disk_bytes))
                return cay_fail(err, CAY_INVALID,
                                "most: only `most sandboxes` goes with `commands user`: nothing enforces a "
                                "limit on commands that run without isolation");
        return 0;
}

static int read_text(int fd, char *ret, size_t size, const char *what, struct cay_error *err)
{
        size_t len = 0;
        ssize_t n;

        while ((n = read(fd, ret + len, size - 1 - len)) > 0 || (n < 0 && errno == EINTR))
                len += n > 0 ? (size_t)n : 0;
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "read %s", what);
        if (len == size - 1)
                return cay_fail(err, CAY_LIMIT, "%s: at most %zu bytes", what, size - 2);
        ret[len] = '\0';
        return 0;
}

int agent_rules_reload(struct agent_rules *r, struct cay_error *err)
{
        if (r->store < 0)
                return 0;
        if (lseek(r->store, 0, SEEK_SET) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "read remembered answers");
        return read_text(r->store, r->remembered, sizeof(r->remembered), "remembered answers", err);
}

int agent_rules_load(struct agent_rules *r, int dir, const char *path, int store, struct cay_error *err)
{
        static char text[AGENT_RULES_FILE];
        cay_auto_close int fd = -1;
        struct stat st;

        r->store = store;
        if (agent_rules_reload(r, err) < 0)
                return -1;
        fd = path ? open(path, O_RDONLY | O_CLOEXEC) : openat(dir, "rules", O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT && !path)
                return 0;
        if (fd < 0)
                return cay_fail_sys(err, CAY_NOT_FOUND, -errno, "open %.150s", path ? path : "the rules");
        /* Whoever can write it decides about this user's files. */
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_mode & 022 ||
            (st.st_uid != geteuid() && st.st_uid != 0))
                return cay_fail(err, CAY_DENIED,
                                "the file of rules must be yours, and writable by nobody else (chmod 600)");
        if (read_text(fd, text, sizeof(text), "the rules", err) < 0)
                return -1;
        return agent_rules_parse(r, text, err) < 0 ? cay_wrap(err, "the rules") : 0;
}

/* Judging */

/* The rule of the longest path that is the wish's folder or above it. */
static const struct agent_folder *find(const struct agent_rules *r, const char *path)
{
        const struct agent_folder *best = NULL;
        size_t best_len = 0;

        for (unsigned i = 0; i < r->folder_count; i++) {
                const struct agent_folder *f = &r->folders[i];
                size_t len = f->path[1] ? strlen(f->path) : 0; /* "/" is above all */

                if (strncmp(f->path, path, len) == 0 && (path[len] == '/' || path[len] == '\0') &&
                    (!best || len > best_len)) {
                        best = f;
                        best_len = len;
                }
        }
        return best;
}

/* A copy-on-write folder is only read. */
static bool is_within(enum cay_workspace_mode mode, enum cay_workspace_mode most)
{
        return mode == CAY_WORKSPACE_RO || most == CAY_WORKSPACE_RW || mode == most;
}

/* Is it about what is below this path? */
static bool is_below(const struct agent_folder *f, const char *path)
{
        size_t len = path[1] ? strlen(path) : 0;

        return strncmp(f->path, path, len) == 0 && f->path[len] == '/';
}

static void write_folder_rule(const struct agent_folder *f, char ret[AGENT_RULE_TEXT])
{
        snprintf(ret, AGENT_RULE_TEXT, "folder %s %s", f->path, modes[f->most]);
}

static bool is_remembered(const struct agent_rules *r, const char *rule)
{
        size_t len = strlen(rule);

        for (const char *at = r->remembered; *at;) {
                size_t line = strcspn(at, "\n");

                if (line == len && memcmp(at, rule, len) == 0)
                        return true;
                at += line + (at[line] == '\n');
        }
        return false;
}

#define SANDBOXES_RULE "sandboxes"

static bool asks_sandbox(const struct agent_rules *r)
{
        return r->sandboxes == AGENT_PROMPT && !is_remembered(r, SANDBOXES_RULE);
}

static bool asks_folder(const struct agent_rules *r, const struct agent_folder *f)
{
        char rule[AGENT_RULE_TEXT];

        if (f->verdict != AGENT_PROMPT)
                return false;
        write_folder_rule(f, rule);
        return !is_remembered(r, rule);
}

/*
 * The rule that allows a folder, and those of folders below it: all of them hold for whoever has the folder.
 */
static bool concerns(const struct agent_rules *r, unsigned nr, const char *path)
{
        return path[0] && (&r->folders[nr] == find(r, path) || is_below(&r->folders[nr], path));
}

static int check_folder(const struct agent_rules *r, const struct agent_wish *w, struct cay_error *err)
{
        if (!w->folder[0])
                return 0;
        if (!is_plain_path(w->folder))
                return cay_fail(err, CAY_INVALID,
                                "workspace.path: must be absolute, at most 1,023 bytes, without '.' or '..'");
        if (!find(r, w->folder))
                return cay_fail(err, CAY_DENIED,
                                "workspace.path: the user of that machine allows no sandbox to use '%.120s'",
                                w->folder);
        for (unsigned i = 0; i < r->folder_count; i++)
                if (concerns(r, i, w->folder) && !is_within(w->mode, r->folders[i].most))
                        return cay_fail(err, CAY_DENIED,
                                        "workspace.mode: the user of that machine allows '%.120s' as %s only",
                                        r->folders[i].path, modes[r->folders[i].most]);
        if (r->as_user)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "workspace: that machine runs commands without isolation, so it maps no folder");
        return 0;
}

bool agent_rules_has_most(const struct agent_rules *r)
{
        const struct agent_most *m = &r->most;

        return m->memory_bytes || m->cpu_milli || m->pids || m->disk_bytes || m->sandboxes;
}

/* A limit that is missing is more than any. */
static int check_most(const char *word, uint64_t asked, uint64_t most, uint64_t unit, const char *shown,
                      struct cay_error *err)
{
        return most == 0 || (asked > 0 && asked <= most)
                       ? 0
                       : cay_fail(err, CAY_DENIED,
                                  "%s: the user of that machine allows a sandbox at most %llu.%02llu%s", word,
                                  (unsigned long long)(most / unit),
                                  (unsigned long long)(most % unit * 100 / unit), shown);
}

int agent_rules_check_limits(const struct agent_rules *r, const struct cay_limits *l, unsigned sandboxes,
                             struct cay_error *err)
{
        const struct agent_most *m = &r->most;

        if (m->sandboxes > 0 && sandboxes >= m->sandboxes)
                return cay_fail(err, CAY_LIMIT,
                                "the user of that machine allows at most %llu sandboxes at once",
                                (unsigned long long)m->sandboxes);
        if (check_most("memory", l->memory_bytes, m->memory_bytes, 1 << 20, " MiB", err) < 0 ||
            check_most("cpus", l->cpu_milli, m->cpu_milli, 1000, "", err) < 0 ||
            check_most("disk", l->disk_bytes, m->disk_bytes, 1 << 20, " MiB", err) < 0)
                return -1;
        if (m->pids > 0 && (l->pids == 0 || l->pids > m->pids))
                return cay_fail(err, CAY_DENIED,
                                "pids: the user of that machine allows a sandbox at most %llu",
                                (unsigned long long)m->pids);
        return 0;
}

enum agent_verdict agent_rules_judge(const struct agent_rules *r, const struct agent_wish *wish,
                                     char ret_question[AGENT_RULE_TEXT], struct cay_error *err)
{
        bool asks = asks_sandbox(r);

        if (r->sandboxes == AGENT_DENY) {
                cay_fail(err, CAY_DENIED, "the user of that machine allows no sandboxes");
                return AGENT_DENY;
        }
        if (check_folder(r, wish, err) < 0)
                return AGENT_DENY;
        for (unsigned i = 0; i < r->folder_count; i++)
                asks |= concerns(r, i, wish->folder) && asks_folder(r, &r->folders[i]);
        if (!asks)
                return AGENT_ALLOW;
        if (wish->folder[0])
                snprintf(ret_question, AGENT_RULE_TEXT, "a sandbox that %s %s",
                         wish->mode == CAY_WORKSPACE_RW ? "may change the files of" : "may read the files of",
                         wish->folder);
        else
                snprintf(ret_question, AGENT_RULE_TEXT, "a sandbox%s",
                         r->as_user ? ", whose commands run without isolation, as you" : "");
        return AGENT_PROMPT;
}

static int remember(struct agent_rules *r, const char *rule, struct cay_error *err)
{
        size_t len = strlen(r->remembered), more = strlen(rule) + 1;

        if (len + more >= sizeof(r->remembered))
                return cay_fail(err, CAY_LIMIT, "too many answers are remembered");
        if (r->store >= 0) {
                char line[AGENT_RULE_TEXT + 1];

                snprintf(line, sizeof(line), "%.*s\n", (int)AGENT_RULE_TEXT - 1, rule);
                if (pwrite(r->store, line, more, (off_t)len) != (ssize_t)more || fsync(r->store) < 0)
                        return cay_fail_sys(err, CAY_NO_SPACE, -errno, "remember the answer");
        }
        memcpy(r->remembered + len, rule, more - 1);
        r->remembered[len + more - 1] = '\n';
        r->remembered[len + more] = '\0';
        return 0;
}

int agent_rules_remember(struct agent_rules *r, const struct agent_wish *wish, struct cay_error *err)
{
        char rule[AGENT_RULE_TEXT];

        if (asks_sandbox(r) && remember(r, SANDBOXES_RULE, err) < 0)
                return -1;
        for (unsigned i = 0; i < r->folder_count; i++) {
                if (!concerns(r, i, wish->folder) || !asks_folder(r, &r->folders[i]))
                        continue;
                write_folder_rule(&r->folders[i], rule);
                if (remember(r, rule, err) < 0)
                        return -1;
        }
        return 0;
}

unsigned agent_rules_place(const struct agent_rules *r, const struct agent_wish *wish, const char **ret_below)
{
        const struct agent_folder *f = wish->folder[0] ? find(r, wish->folder) : NULL;
        const char *below;

        if (!f)
                return 0;
        below = wish->folder + (f->path[1] ? strlen(f->path) : 0);
        below += below[0] == '/';
        *ret_below = below[0] ? below : ".";
        return (unsigned)(f - r->folders) + 1;
}
