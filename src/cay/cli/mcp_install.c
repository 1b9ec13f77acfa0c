/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files of agents: found, edited (config_edit.h), shown, and replaced in one step. */
#include "cay/cli/mcp_install.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/json_out.h"
#include "cay/changes/line_diff.h"
#include "cay/cli/args_flags.h"
#include "cay/cli/cli.h"
#include "cay/cli/config_edit.h"
#include "cay/cli/safe.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/replace.h"

#define VALUE_MAX 16384u
#define SHOWN_MAX 4096u

enum form { PLAIN, STDIO, LOCAL, TOML };

/* Texts stand in the row itself: the loader has no pointers to relocate (cay/cli/verb.h). */
struct client {
        char name[16], home_file[48], project_file[24], group[16];
        enum form form;
};

static const struct client clients[] = {
#define CAY_CLIENT(name, home, project, group, form) { name, home, project, group, form },
#include "cay/cli/mcp_clients.def"
#undef CAY_CLIENT
};

struct args {
        bool yes, replace, project;
        const char *data, *name;
};

static const struct cay_flag flags[] = {
        { "yes", NULL, "do not ask", cay_flag_set_true, offsetof(struct args, yes), 'y' },
        { "project", NULL, "write the file of the project in this folder, not the one for all projects",
          cay_flag_set_true, offsetof(struct args, project) },
        { "replace", NULL, "replace an entry of this name that says something else", cay_flag_set_true,
          offsetof(struct args, replace) },
        { "name", "NAME", "name of the entry (default: cay)", cay_flag_set_text,
          offsetof(struct args, name) },
        { "data", "DIR", "let the agent use the daemon of this data folder", cay_flag_set_text,
          offsetof(struct args, data) },
        {},
};

struct file {
        char path[4096];   /* as people know it */
        char target[4096]; /* where a link leads */
        char *old;         /* owned, with a NUL behind it */
        size_t len;
        mode_t mode;
        uid_t uid;
        gid_t gid;
        bool exists;
};

/* The program by its name if a shell finds this one by it, else by its path. */
static const char *own_program(char *ret, size_t size)
{
        const char *path = getenv("PATH");
        struct stat own, other;
        char try[4096];
        ssize_t n = readlink("/proc/self/exe", ret, size - 1);

        if (n <= 0)
                return "cay";
        ret[n] = '\0';
        if (stat(ret, &own) < 0)
                return "cay";
        for (size_t len; path && *path; path += len + (path[len] == ':')) {
                len = strcspn(path, ":");
                snprintf(try, sizeof(try), "%.*s/cay", (int)len, path);
                if (len > 0 && stat(try, &other) == 0)
                        return own.st_ino == other.st_ino && own.st_dev == other.st_dev ? "cay" : ret;
        }
        return ret;
}

static void put_arguments(struct cay_json *j, const char *program, const struct args *a)
{
        cay_json_begin_array(j);
        if (program)
                cay_json_text(j, program);
        cay_json_text(j, "mcp");
        if (a->data) {
                cay_json_text(j, "--data");
                cay_json_text(j, a->data);
        }
        cay_json_end_array(j);
}

/* What the entry says. TOML's strings and arrays of them are written as JSON's are. */
static int make_value(const struct client *c, const struct args *a, struct cay_buf *ret,
                      struct cay_error *err)
{
        char path[4096];
        const char *program = own_program(path, sizeof(path));
        cay_auto_buf struct cay_buf words = { 0 };
        struct cay_json j;
        int r = 0;

        cay_buf_init(ret, VALUE_MAX);
        if (c->form == TOML) {
                cay_buf_init(&words, VALUE_MAX);
                cay_json_init(&j, &words);
                put_arguments(&j, program, a);
                r = cay_json_end(&j);
                if (r == 0) { /* ["cay","mcp",…]: the first is the command, the others its arguments */
                        const char *text = cay_buf_data(&words);
                        const char *comma = strstr(text, "\",\"mcp\"");

                        r = cay_buf_printf(ret, "command = %.*s\nargs = [%.*s\n", (int)(comma + 1 - text - 1),
                                           text + 1, (int)(words.len - (size_t)(comma + 2 - text)),
                                           comma + 2);
                }
        } else {
                cay_json_init(&j, ret);
                cay_json_begin_object(&j);
                if (c->form != PLAIN) {
                        cay_json_key(&j, "type");
                        cay_json_text(&j, c->form == STDIO ? "stdio" : "local");
                }
                cay_json_key(&j, "command");
                if (c->form == LOCAL) {
                        put_arguments(&j, program, a);
                } else {
                        cay_json_text(&j, program);
                        cay_json_key(&j, "args");
                        put_arguments(&j, NULL, a);
                }
                cay_json_end_object(&j);
                r = cay_json_end(&j);
        }
        return r < 0 ? cay_fail(err, CAY_INVALID, "the program's path or --data is too long") : 0;
}

static int find_file(const struct client *c, bool in_project, struct file *f, struct cay_error *err)
{
        const char *home = getenv("HOME"), *codex = getenv("CODEX_HOME");
        int n;

        if (in_project && c->project_file[0] == '\0')
                return cay_fail(err, CAY_UNSUPPORTED, "%s has no file in projects; leave out --project",
                                c->name);
        if (!in_project && (!home || home[0] != '/'))
                return cay_fail(err, CAY_INVALID, "HOME is not set");
        if (in_project)
                n = snprintf(f->path, sizeof(f->path), "%s", c->project_file);
        else if (c->form == TOML && codex && codex[0] == '/')
                n = snprintf(f->path, sizeof(f->path), "%s/%s", codex, strrchr(c->home_file, '/') + 1);
        else
                n = snprintf(f->path, sizeof(f->path), "%s/%s", home, c->home_file);
        return n < (int)sizeof(f->path) ? 0 : cay_fail(err, CAY_INVALID, "the path of the file is too long");
}

static int read_file(struct file *f, struct cay_error *err)
{
        char real[PATH_MAX];
        struct stat st;
        ssize_t n;

        f->old = calloc(1, CAY_CONFIG_EDIT_MAX + 2);
        if (!f->old)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        if (!realpath(f->path, real)) {
                if (errno != ENOENT || lstat(f->path, &st) == 0)
                        return cay_fail_sys(err, CAY_DENIED, -errno, "find '%s'", f->path);
                snprintf(f->target, sizeof(f->target), "%s", f->path);
                return 0;
        }
        snprintf(f->target, sizeof(f->target), "%s", real);
        n = stat(real, &st) == 0 ? sys_read_file(AT_FDCWD, real, f->old, CAY_CONFIG_EDIT_MAX + 2) : -errno;
        if (n < 0 || !S_ISREG(st.st_mode))
                return cay_fail_sys(err, CAY_DENIED, n < 0 ? (int)n : -EINVAL, "read '%s'", f->path);
        if (!(st.st_mode & 0222) || access(real, W_OK) < 0)
                return cay_fail(err, CAY_DENIED, "'%s' is read-only; it stays as it is", f->path);
        f->len = (size_t)n;
        f->mode = st.st_mode & 07777;
        f->uid = st.st_uid;
        f->gid = st.st_gid;
        f->exists = true;
        return 0;
}

/* Missing folders of a file that is new. */
static int make_folders(const char *path, struct cay_error *err)
{
        char folder[4096];

        snprintf(folder, sizeof(folder), "%s", path);
        for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
                *at = '\0';
                if (mkdir(folder, 0755) < 0 && errno != EEXIST)
                        return cay_fail_sys(err, CAY_DENIED, -errno, "make the folder '%s'", folder);
                *at = '/';
        }
        return 0;
}

static int write_file(const struct file *f, const struct cay_buf *text, struct cay_error *err)
{
        char folder[4096];
        char *slash;
        struct sys_replace r = SYS_REPLACE_NONE;
        int dir, result;

        if (!f->exists && make_folders(f->target, err) < 0)
                return -1;
        snprintf(folder, sizeof(folder), "%s", f->target);
        slash = strrchr(folder, '/');
        if (slash)
                *slash = '\0';
        dir = open(!slash ? "." : slash > folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        result = dir < 0 ? -errno : sys_replace_open(&r, dir);
        if (result == 0)
                result = sys_write_all(r.fd, cay_buf_data(text), text->len);
        if (result == 0 && f->exists && (f->uid != geteuid() || f->gid != getegid()) &&
            fchown(r.fd, f->uid, f->gid) < 0)
                result = -errno;
        if (result == 0 && fchmod(r.fd, f->exists ? f->mode : 0600) < 0)
                result = -errno;
        if (result == 0)
                result = sys_replace_commit(&r, slash ? slash + 1 : folder, !f->exists);
        sys_replace_drop(&r);
        if (dir >= 0)
                close(dir);
        return result < 0 ? cay_fail_sys(err, CAY_DENIED, result, "write '%s'; it stays as it is", f->path)
                          : 0;
}

static void show_lines(const struct cay_text *t, uint32_t at, uint32_t count, char sign)
{
        char line[SHOWN_MAX], safe[SHOWN_MAX];

        for (uint32_t i = at; i < at + count; i++) {
                size_t len = t->starts[i + 1] - t->starts[i];

                while (len > 0 && strchr("\r\n", t->bytes[t->starts[i] + len - 1]))
                        len--;
                snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ? len : sizeof(line) - 1),
                         t->bytes + t->starts[i]);
                printf("%c%s\n", sign, cay_safe_line(line, safe, sizeof(safe)));
        }
}

static int show_change(const struct file *f, const struct cay_buf *text, struct cay_error *err)
{
        struct cay_text a = { 0 }, b = { 0 };
        struct cay_edits edits = { 0 };
        int r = cay_text_init(&a, f->old, f->len);

        if (r == 0)
                r = cay_text_init(&b, cay_buf_data(text), text->len);
        if (r == 0)
                r = cay_line_diff(&a, &b, &edits);
        if (r == 0) {
                printf("%s%s\n", f->path, f->exists ? "" : " (new)");
                for (size_t i = 0; i < edits.count; i++) {
                        const struct cay_edit *e = &edits.list[i];

                        printf("@@ line %u @@\n", e->b_at + 1);
                        show_lines(&a, e->a_at, e->a_count, '-');
                        show_lines(&b, e->b_at, e->b_count, '+');
                }
                fflush(stdout);
        }
        cay_edits_done(&edits);
        cay_text_done(&a);
        cay_text_done(&b);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "compare") : 0;
}

static int ask(const struct args *a, struct cay_error *err)
{
        char line[16];

        if (a->yes)
                return 0;
        if (!isatty(STDIN_FILENO))
                return cay_fail(err, CAY_CONFLICT, "there is no terminal to ask on; --yes agrees");
        fprintf(stderr, "Write this? [y/N] ");
        fflush(stderr);
        if (fgets(line, sizeof(line), stdin) && (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0))
                return 0;
        return cay_fail(err, CAY_CONFLICT, "not confirmed; nothing was written");
}

static int edit(const struct client *c, const struct args *a, const struct file *f, struct cay_buf *out,
                struct cay_error *err)
{
        cay_auto_buf struct cay_buf value = { 0 };
        struct cay_error why = { 0 };
        int r;

        if (make_value(c, a, &value, err) < 0)
                return -1;
        cay_buf_init(out, CAY_CONFIG_EDIT_MAX + VALUE_MAX + 1024);
        r = (c->form == TOML ? cay_config_edit_toml : cay_config_edit_json)(f->old, f->len, c->group,
                                                                            a->name ? a->name : "cay",
                                                                            cay_buf_data(&value), out, &why);
        if (r < 0)
                return cay_fail(err, CAY_INVALID, "'%s' is not understood, and stays as it is: %s", f->path,
                                why.msg);
        if (r == CAY_CONFIG_OTHER && !a->replace)
                return cay_fail(
                        err, CAY_EXISTS,
                        "'%s' has another entry '%s'; --replace replaces it, --name adds one beside it",
                        f->path, a->name ? a->name : "cay");
        return r;
}

static int install(const struct client *c, const struct args *a, struct cay_error *err)
{
        struct file f = { 0 };
        cay_auto_buf struct cay_buf text = { 0 };
        int r = find_file(c, a->project, &f, err);

        if (r == 0)
                r = read_file(&f, err);
        if (r == 0)
                r = edit(c, a, &f, &text, err);
        if (r == CAY_CONFIG_SAME) {
                printf("%s: %s has it already\n", c->name, f.path);
        } else if (r > 0) {
                r = show_change(&f, &text, err);
                if (r == 0)
                        r = ask(a, err);
                if (r == 0)
                        r = write_file(&f, &text, err);
                if (r == 0)
                        printf("%s: written; restart it, or reload its servers\n", c->name);
        }
        free(f.old);
        return r < 0 ? -1 : 0;
}

static const struct client *find_client(const char *name)
{
        for (unsigned i = 0; i < CAY_COUNT(clients); i++)
                if (strcmp(clients[i].name, name) == 0)
                        return &clients[i];
        return NULL;
}

/* Who is known, and whose file is there. */
static void list_clients(FILE *out)
{
        struct cay_error ignored = { 0 };
        struct file f;

        for (unsigned i = 0; i < CAY_COUNT(clients); i++) {
                f = (struct file){ 0 };
                if (find_file(&clients[i], false, &f, &ignored) == 0)
                        fprintf(out, "%-15s %s%s\n", clients[i].name, f.path,
                                access(f.path, F_OK) == 0 ? "" : " (not there)");
        }
}

static void print_help(void)
{
        printf("usage: cay mcp install [options] [CLIENT...]\n\n"
               "Writes `cay mcp` into the configuration of agents, after showing what will change. Without a "
               "CLIENT "
               "it lists\nthem with their files.\n\n");
        cay_flags_print(flags, stdout);
}

int cay_mcp_install(int argc, char **argv)
{
        struct args a = { 0 };
        struct cay_error err = { 0 };
        int rest = 0, r = cay_flags_parse(flags, argc, argv, &a, &rest, &err);

        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest == argc)
                list_clients(stdout);
        for (int i = rest; r == 0 && i < argc; i++) {
                const struct client *c = find_client(argv[i]);

                if (!c)
                        r = cay_fail(&err, CAY_INVALID,
                                     "unknown client '%.40s'; `cay mcp install` lists those that are known",
                                     argv[i]);
                else
                        r = install(c, &a, &err);
        }
        if (r < 0)
                fprintf(stderr, "cay mcp install: %s\n", err.msg);
        return r < 0 ? err.code == CAY_INVALID ? 2 : 1 : 0;
}
