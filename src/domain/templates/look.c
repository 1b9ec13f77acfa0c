/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what this machine has of what templates need. Everything is opened below a descriptor, and no link
 * in the registry's folder is followed.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/model/engine_caps.h"
#include "domain/templates/fields.h"
#include "foundation/base/utf8.h"
#include "domain/templates/registry_priv.h"
#include "foundation/sys/fd.h"

/* Whether a word stands in a text of words with blanks between. */
static bool has_word(const char *words, const char *word)
{
        size_t len = strlen(word);

        for (const char *at = words; (at = strstr(at, word)); at += len)
                if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
                        return true;
        return false;
}

/*
 * A link that leads out of /usr (to /etc/alternatives) cannot be followed from here: then the box will report
 * a failure.
 */
static bool has_one(int usr_fd, const char *path)
{
        const char *below = path + strlen("/usr/");
        char target[4];
        struct stat st;

        if (fstatat(usr_fd, below, &st, 0) == 0)
                return S_ISREG(st.st_mode) && (st.st_mode & 0111);
        return readlinkat(usr_fd, below, target, sizeof(target)) > 0 && target[0] == '/';
}

/* "/usr/bin/a|/usr/bin/b": one of them is enough. */
static bool has_program(int usr_fd, const char *paths)
{
        char path[256];
        size_t len;

        if (usr_fd < 0)
                return true;
        for (;; paths += len + 1) {
                len = strcspn(paths, "|");
                snprintf(path, sizeof(path), "%.*s", (int)len, paths);
                if (strlen(path) > strlen("/usr/") && has_one(usr_fd, path))
                        return true;
                if (paths[len] == '\0')
                        return false;
        }
}

static bool lacks_program(struct cay_template *t, const struct cay_registry_place *place)
{
        for (unsigned i = 0; i < t->requires.count; i++) {
                if (has_program(place->usr_fd, t->requires.items[i]))
                        continue;
                snprintf(t->why, sizeof(t->why), "it needs %.100s, which this machine does not have",
                         t->requires.items[i]);
                return true;
        }
        return false;
}

/* Checks only that it exists: the engine reads it, with its own rights. */
bool cay_registry_lacks_dockerfile(struct cay_template *t, int folder_fd)
{
        cay_auto_close int fd = -1;

        if (t->root != CAY_TEMPLATE_ROOT_DOCKERFILE || folder_fd < 0)
                return false;
        fd = sys_open_beneath(folder_fd, t->root_text, O_PATH, 0);
        if (fd != -ENOENT && fd != -ENOTDIR)
                return false;
        snprintf(t->why, sizeof(t->why), "its dockerfile '%.80s' is not there; write it", t->root_text);
        return true;
}

static bool lacks_root(struct cay_template *t, const struct cay_registry_place *place)
{
        int fd;

        if (t->root != CAY_TEMPLATE_ROOT_ROOTFS)
                return false;
        fd = place->folder_fd < 0 ? -ENOENT
                                  : sys_open_beneath(place->folder_fd, t->root_text, O_PATH | O_DIRECTORY, 0);
        if (fd < 0) {
                snprintf(t->why, sizeof(t->why), "its rootfs '%.80s' cannot be opened: %s", t->root_text,
                         strerror(-fd)); /* NOLINT: one thread */
                return true;
        }
        t->root_fd = fd;
        return false;
}

static bool is_first_word(const char *words, const char *word)
{
        size_t len = strlen(word);

        return words && strncmp(words, word, len) == 0 && (words[len] == ' ' || !words[len]);
}

static bool has_rules(const struct cay_template *t)
{
        return t->allow.count > 0 || t->deny.count > 0 || strcmp(t->network, "learn") == 0;
}

/* Those with its network. */
static const char *engines_for(const struct cay_template *t, const struct cay_registry_place *place)
{
        return has_rules(t) ? place->policy_engines : place->bridge_engines;
}

/* The one that makes it, as far as a request does not say. */
static bool is_made_by(const struct cay_template *t, const struct cay_registry_place *place,
                       const char *engine)
{
        if (strcmp(t->engine, "auto") != 0)
                return strcmp(t->engine, engine) == 0;
        if (strcmp(t->network, "none") != 0)
                return is_first_word(engines_for(t, place), engine);
        if (strcmp(t->init, "none") == 0)
                return place->no_init_engine && strcmp(place->no_init_engine, engine) == 0;
        if (place->default_engine)
                return strcmp(place->default_engine, engine) == 0;
        return is_first_word(place->engines, engine);
}

/*
 * With an engine of images, one replaces the machine's programs, and its content is unknown before it runs.
 */
static bool is_imaged(const struct cay_template *t, const struct cay_registry_place *place)
{
        for (const struct cay_registry_engine *e = cay_registry_engines; e->name; e++)
                if (e->caps & CAY_ENGINE_CAN_IMAGES && is_made_by(t, place, e->name))
                        return t->root == CAY_TEMPLATE_ROOT_HOST;
        return false;
}

static void say_absent(struct cay_template *t, const struct cay_registry_place *place)
{
        const char *why = place->why_not ? place->why_not(place->ctx, t->engine) : NULL;

        if (why && why[0])
                snprintf(t->why, sizeof(t->why), "it needs the engine '%s', which is not available: %.100s",
                         t->engine, why);
        else
                snprintf(t->why, sizeof(t->why), "it needs the engine '%s'; this daemon has %s", t->engine,
                         place->engines);
}

static bool lacks_engine(struct cay_template *t, const struct cay_registry_place *place)
{
        bool is_built = t->root == CAY_TEMPLATE_ROOT_DOCKERFILE || t->root == CAY_TEMPLATE_ROOT_IMAGE;
        bool has_images = cay_registry_engine_can(t->engine, CAY_ENGINE_CAN_IMAGES);

        if (strcmp(t->engine, "auto") != 0 && !has_word(place->engines, t->engine)) {
                say_absent(t, place);
                return true;
        }
        if (is_built && !has_images) {
                snprintf(t->why, sizeof(t->why),
                         "the engine '%s' cannot make a root from %s; give it a rootfs", t->engine,
                         cay_template_root_word(t->root));
                return true;
        }
        if (t->root == CAY_TEMPLATE_ROOT_ROOTFS && has_images) {
                snprintf(t->why, sizeof(t->why),
                         "the engine '%s' cannot make a root from a folder; give it an image", t->engine);
                return true;
        }
        return false;
}

static bool lacks_network(struct cay_template *t, const struct cay_registry_place *place)
{
        const char *can = engines_for(t, place);

        if (strcmp(t->network, "none") == 0)
                return false;
        if (!can || !can[0]) {
                snprintf(t->why, sizeof(t->why), "it needs the network '%s'; this daemon has none",
                         t->network);
                return true;
        }
        if (strcmp(t->engine, "auto") == 0 || has_word(can, t->engine))
                return false;
        snprintf(t->why, sizeof(t->why), "it needs the network '%s'%s, which the engine '%s' has, not '%s'",
                 t->network, has_rules(t) ? " with rules" : "", can, t->engine);
        return true;
}

static bool lacks_init(struct cay_template *t, const struct cay_registry_place *place)
{
        const char *can = place->no_init_engine;

        if (strcmp(t->init, "none") != 0 ||
            (can && (strcmp(t->engine, "auto") == 0 || strcmp(t->engine, can) == 0)))
                return false;
        snprintf(t->why, sizeof(t->why), "it has no init (init: none), which takes the engine 'docker'; %s%s",
                 can ? "it is for " : "this daemon has only ", can ? t->engine : place->engines);
        return true;
}

/* SYSTEM.md is optional help: a problem with it is a warning. */
static void read_system(struct cay_registry *r, struct cay_template *t, unsigned nr, int folder_fd,
                        struct cay_notes *notes)
{
        cay_auto_free char *text = NULL;
        cay_auto_close int fd = -1;
        ssize_t n = -ENOENT;

        if (folder_fd < 0 || !t->system_path[0])
                return;
        fd = sys_open_beneath(folder_fd, t->system_path, O_RDONLY | O_NONBLOCK, 0);
        text = fd >= 0 ? malloc(CAY_REGISTRY_SYSTEM_MAX + 2) : NULL;
        if (text)
                n = sys_read_fd(fd, text, CAY_REGISTRY_SYSTEM_MAX + 2);
        else if (fd != -ENOENT)
                n = fd < 0 ? fd : -ENOMEM;
        if (n == -ENOENT)
                return;
        if (n < 0)
                cay_note_warning(notes, r->lines[nr], r->columns[nr],
                                 "containers.%s: '%.80s' cannot be read: %s; let the daemon's user read it",
                                 t->name, t->system_path, strerror((int)-n)); /* NOLINT: one thread */
        else if (n > (ssize_t)CAY_REGISTRY_SYSTEM_MAX)
                cay_note_warning(notes, r->lines[nr], r->columns[nr],
                                 "containers.%s: '%.80s' has more than %u bytes and is left out; shorten it",
                                 t->name, t->system_path, CAY_REGISTRY_SYSTEM_MAX);
        else if (!cay_utf8_valid(text, (size_t)n) || memchr(text, '\0', (size_t)n))
                cay_note_warning(notes, r->lines[nr], r->columns[nr],
                                 "containers.%s: '%.80s' is not plain UTF-8 text and is left out", t->name,
                                 t->system_path);
        else if (!(t->system_text = cay_arena_copy(&r->seen, text, (size_t)n)))
                cay_note_warning(notes, r->lines[nr], r->columns[nr],
                                 "containers.%s: '%.80s' is left out: all such files together are too long",
                                 t->name, t->system_path);
}

void cay_registry_look(struct cay_registry *r, const struct cay_registry_place *place,
                       struct cay_notes *notes)
{
        r->set.loaded_wall_ms = place->now_wall_ms;
        for (unsigned i = 0; i < r->set.count; i++) {
                struct cay_template *t = &r->rows[i];

                t->available = !lacks_engine(t, place) && !lacks_network(t, place) && !lacks_init(t, place) &&
                               (is_imaged(t, place) || !lacks_program(t, place)) &&
                               !cay_registry_lacks_dockerfile(t, place->folder_fd) && !lacks_root(t, place);
                read_system(r, t, i, place->folder_fd, notes);
        }
        cay_notes_sort(notes);
}
