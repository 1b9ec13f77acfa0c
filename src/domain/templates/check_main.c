/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay template check` and `cay template schema`, for editors and CI. Runs with its caller's rights, asks no
 * daemon and changes nothing; the exit status is 0 when every file is valid (warnings or not), 1 when one is
 * not, 2 for a wrong command line.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "domain/model/engine_caps.h"
#include "domain/templates/fields.h"
#include "foundation/base/path.h"
#include "domain/templates/registry_priv.h"
#include "foundation/sys/fd.h"

#define HELP                                                                                                 \
        "usage: cay template check [--json] FILE…    checks registry files; - is standard input\n"         \
        "       cay template schema                  prints their JSON Schema\n"

static int open_folder(const char *path)
{
        char folder[4096];
        int n = (int)(cay_path_base(path) - path);

        snprintf(folder, sizeof(folder), "%.*s", n > 0 ? n : 1, n > 0 ? path : ".");
        return sys_open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
}

/*
 * Of a text with errors: what is missing is told with them, so that nobody has to check twice. What an error
 * hides is not judged.
 */
static void look_for_files(struct cay_registry *r, const char *path, struct cay_notes *notes)
{
        cay_auto_close int fd = open_folder(path);

        for (unsigned i = 0; i < r->set.count; i++) {
                struct cay_template *t = &r->rows[i];

                if (t->name && t->root_text && t->root_text[0] && cay_registry_lacks_dockerfile(t, fd))
                        cay_note_error(notes, r->lines[i], r->columns[i], "containers.%s: %s", t->name,
                                       t->why);
        }
        cay_notes_sort(notes);
}

#define NAMES_MAX 128

/* Of engines with any of these capabilities; 0: of all. */
static void names_with(unsigned caps, char ret[NAMES_MAX])
{
        size_t len = 0;

        ret[0] = '\0';
        for (const struct cay_registry_engine *e = cay_registry_engines; e->name && len < NAMES_MAX; e++)
                if (caps == 0 || e->caps & caps)
                        len += (size_t)snprintf(ret + len, NAMES_MAX - len, "%s%s", len > 0 ? " " : "",
                                                e->name);
}

/*
 * Beyond the text: missing files, and SYSTEM.md files that the daemon would ignore. The daemon checks which
 * engines exist; what no engine can do is an error. A rootfs is often made by a build instead of being kept
 * beside the registry: a missing one is a warning.
 */
static void look(struct cay_registry *r, const char *path, struct cay_notes *notes)
{
        char all[NAMES_MAX], bridges[NAMES_MAX], policies[NAMES_MAX];
        struct cay_registry_place place = { .folder_fd = -1,
                                            .usr_fd = -1,
                                            .engines = all,
                                            .bridge_engines = bridges,
                                            .policy_engines = policies,
                                            .no_init_engine =
                                                    cay_registry_engine_with(CAY_ENGINE_CAN_NO_INIT)->name };
        const struct cay_template_set *set = cay_registry_set(r);

        names_with(0, all);
        names_with(CAY_ENGINE_CAN_REACH_OUT, bridges);
        names_with(CAY_ENGINE_CAN_EGRESS | CAY_ENGINE_CAN_PROXY, policies);
        place.folder_fd = open_folder(path);
        cay_registry_look(r, &place, notes);
        for (unsigned i = 0; i < set->count; i++) {
                const struct cay_template *t = &set->rows[i];
                bool may_come = t->root == CAY_TEMPLATE_ROOT_ROOTFS &&
                                !cay_registry_engine_can(t->engine, CAY_ENGINE_CAN_IMAGES);

                if (!t->available && may_come)
                        cay_note_warning(notes, r->lines[i], r->columns[i], "containers.%s: %s", t->name,
                                         t->why);
                else if (!t->available)
                        cay_note_error(notes, r->lines[i], r->columns[i], "containers.%s: %s", t->name,
                                       t->why);
        }
        cay_notes_sort(notes);
        if (place.folder_fd >= 0)
                close(place.folder_fd);
}

static void print_notes(const struct cay_notes *notes, const char *name)
{
        char line[4096 + CAY_NOTE_TEXT + 64];

        for (unsigned i = 0; i < notes->count; i++)
                printf("%s\n", cay_note_line(&notes->items[i], name, line, sizeof(line)));
        if (notes->errors + notes->warnings > notes->count)
                printf("%s: and %u more\n", name, notes->errors + notes->warnings - notes->count);
}

static void print_json(const struct cay_notes *notes, const char *name)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 1u << 20);
        if (cay_notes_put_json(notes, name, &out) == 0)
                printf("%.*s\n", (int)out.len, cay_buf_data(&out));
}

static void check_text(const char *path, const char *text, size_t len, struct cay_notes *notes)
{
        cay_auto(cay_registry_freep) struct cay_registry *r = NULL;

        int status = cay_registry_parse_all(path, text, len, notes, &r);

        if (strcmp(path, "-") == 0 || !r)
                return;
        if (status == 0)
                look(r, path, notes);
        else
                look_for_files(r, path, notes);
}

/* 0: valid. */
static int check(const char *path, bool json)
{
        cay_auto_free struct cay_notes *notes = calloc(1, sizeof(*notes));
        cay_auto_free char *text = malloc(CAY_REGISTRY_FILE_MAX + 1);
        const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
        cay_auto_close int fd = -1;
        ssize_t n;

        if (!notes || !text) {
                fprintf(stderr, "cay template: no memory\n");
                return 1;
        }
        fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
        n = fd < 0 ? fd : sys_read_all(fd, text, CAY_REGISTRY_FILE_MAX + 1);
        if (n < 0)
                cay_note_error(notes, 0, 0, "cannot be read: %s", strerror((int)-n)); /* NOLINT: one thread */
        else
                check_text(path, text, (size_t)n, notes);
        if (json)
                print_json(notes, name);
        else
                print_notes(notes, name);
        return notes->errors > 0 ? 1 : 0;
}

static int print_schema(void)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 1u << 20);
        if (cay_registry_put_schema(&out) < 0)
                return 1;
        printf("%.*s\n", (int)out.len, cay_buf_data(&out));
        return 0;
}

int cay_registry_check_main(int argc, char **argv)
{
        bool json = false;
        int failed = 0, files = 0;

        if (argc == 2 && strcmp(argv[1], "schema") == 0)
                return print_schema();
        for (int i = 2; argc > 1 && strcmp(argv[1], "check") == 0 && i < argc; i++) {
                if (strcmp(argv[i], "--json") == 0)
                        json = true;
                else if (argv[i][0] == '-' && argv[i][1] != '\0')
                        files = argc; /* no such option */
                else
                        files++;
        }
        if (files == 0 || files >= argc) {
                bool asked = argc > 1 && strcmp(argv[argc - 1], "--help") == 0;

                fprintf(asked ? stdout : stderr, HELP);
                return asked ? 0 : 2;
        }
        for (int i = 2; i < argc; i++)
                if (strcmp(argv[i], "--json") != 0)
                        failed |= check(argv[i], json);
        return failed;
}
