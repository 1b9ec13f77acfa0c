/* SPDX-License-Identifier: Apache-2.0 */
/* From the keeper's message to the active set of templates. */
#include "cay-front/front_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "domain/templates/registry.h"
#include "cay/keeper/hand_over.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

_Static_assert(CAY_HAND_REGISTRY_MAX == CAY_REGISTRY_FILE_MAX, "what is handed over can be read");

struct message {
        struct cay_hand_registry head;
        int usr, text, folder; /* -1: none */
};

static void let_go(struct message *m)
{
        const int fds[] = { m->usr, m->text, m->folder };

        for (unsigned i = 0; i < CAY_COUNT(fds); i++)
                if (fds[i] >= 0)
                        close(fds[i]);
}

/* 1: a message; 0: nothing now; -1: end of file, or an invalid message. */
static int receive(int sock, int flags, struct message *m)
{
        int fds[SYS_FDS_MAX];
        unsigned count = 0, at = 0;
        ssize_t n = sys_recv_fds(sock, &m->head, sizeof(m->head), fds, &count, flags);

        if (n == -EAGAIN || n == -EINTR)
                return 0;
        if (n != (ssize_t)sizeof(m->head) || m->head.magic != CAY_HAND_MAGIC ||
            m->head.size != sizeof(m->head) || m->head.has_usr > 1 || m->head.has_text > 1 ||
            count != m->head.has_usr + 2 * m->head.has_text) {
                if (n >= 0)
                        sys_close_fds(fds, count);
                return -1;
        }
        m->usr = m->head.has_usr ? fds[at++] : -1;
        m->text = m->head.has_text ? fds[at++] : -1;
        m->folder = m->head.has_text ? fds[at++] : -1;
        return 1;
}

static void tell(const struct cay_notes *notes, const char *name)
{
        char line[4096 + CAY_NOTE_TEXT + 64];

        for (unsigned i = 0; i < notes->count; i++) {
                const struct cay_note *note = &notes->items[i];

                cay_note_line(note, name, line, sizeof(line));
                if (note->is_error)
                        cay_log_error("registry", "error=%s", line);
                else
                        cay_log_warn("registry", "warning=%s", line);
        }
}

static int parse(const struct cay_front_templates *t, const struct message *m, struct cay_notes *notes,
                 struct cay_registry **ret)
{
        cay_auto_free char *text = NULL;
        ssize_t n;

        if (m->text < 0)
                return cay_registry_parse(CAY_REGISTRY_BUILTIN, cay_registry_builtin,
                                          strlen(cay_registry_builtin), notes, ret);
        text = malloc(CAY_REGISTRY_FILE_MAX + 1);
        n = text ? sys_read_fd(m->text, text, CAY_REGISTRY_FILE_MAX + 1) : -ENOMEM;
        if (n < 0) {
                cay_note_error(notes, 0, 0, "cannot be read: errno %d", (int)-n);
                return -1;
        }
        return cay_registry_parse(t->path, text, (size_t)n, notes, ret);
}

/*
 * When this returns 0, the new set is active and the old one is freed. Nobody keeps rows across a round of
 * the loop.
 */
static int load(struct cay_front_templates *t, const struct message *m, struct cay_error *err)
{
        cay_auto_free struct cay_notes *notes = calloc(1, sizeof(*notes));
        char bridges[sizeof(t->engines->names)], policies[sizeof(t->engines->names)];
        const struct cay_registry_place place = {
                .folder_fd = m->folder,
                .usr_fd = m->usr,
                .engines = t->engines->names,
                .default_engine = cay_front_engines_default(t->engines),
                .why_not = cay_front_engines_why_not,
                .ctx = (void *)(uintptr_t)t->engines,
                .bridge_engines = bridges,
                .policy_engines = policies,
                .no_init_engine = cay_front_engines_with(t->engines, CAY_ENGINE_CAN_NO_INIT),
                .now_wall_ms = cay_clock_wall_ms()
        };
        const char *name = m->text < 0 ? CAY_REGISTRY_BUILTIN : t->path;
        struct cay_registry *registry = NULL, *old = t->registry;
        int r;

        if (!notes)
                return cay_fail(err, CAY_INTERNAL, "no memory for the registry");
        cay_front_engines_names_with(t->engines, CAY_ENGINE_CAN_REACH_OUT, bridges, sizeof(bridges));
        cay_front_engines_names_with(t->engines, CAY_ENGINE_CAN_EGRESS | CAY_ENGINE_CAN_PROXY, policies,
                                     sizeof(policies));
        r = parse(t, m, notes, &registry);
        if (r == 0)
                cay_registry_look(registry, &place, notes);
        tell(notes, name);
        if (r < 0)
                return cay_fail(err, CAY_INVALID, "the registry %.100s has %u error%s (see above)", name,
                                notes->errors, notes->errors == 1 ? "" : "s");
        t->registry = registry;
        t->use.set = cay_registry_set(registry);
        cay_registry_free(old);
        cay_log_info("registry loaded", "file=%s templates=%u warnings=%u", name, t->use.set->count,
                     notes->warnings);
        return 0;
}

/* The first message comes before requests are accepted: it was sent before this process started. */
/* The folder of the active set. */
static void take_folder(struct cay_front_templates *t, struct message *m)
{
        if (t->folder > 0)
                close(t->folder);
        t->folder = cay_take_fd(m->folder);
        memset(t->seen, 0, sizeof(t->seen));
}

int cay_front_templates_start(struct cay_front_templates *t, int sock, struct cay_error *err)
{
        struct cay_hand_verdict verdict = { .magic = CAY_HAND_MAGIC, .size = sizeof(verdict) };
        struct message m;
        int r = receive(sock, MSG_DONTWAIT, &m);

        if (r <= 0)
                return cay_fail(err, CAY_INTERNAL, "the keeper handed no registry over");
        r = load(t, &m, err);
        if (r == 0)
                take_folder(t, &m);
        let_go(&m);
        verdict.serial = m.head.serial;
        verdict.taken = r == 0;
        (void)send(sock, &verdict, sizeof(verdict), MSG_NOSIGNAL);
        return r;
}

int cay_front_templates_hear(struct cay_front_templates *t, int sock)
{
        struct cay_hand_verdict verdict = { .magic = CAY_HAND_MAGIC, .size = sizeof(verdict) };
        struct cay_error err = { 0 };
        struct message m;
        int r = receive(sock, MSG_DONTWAIT, &m);

        if (r <= 0)
                return r;
        r = load(t, &m, &err);
        if (r < 0)
                cay_log_error("the registry is not reloaded: the old one stays in force", "error=%s",
                              err.msg);
        else
                take_folder(t, &m);
        let_go(&m);
        verdict.serial = m.head.serial;
        verdict.taken = r == 0;
        (void)send(sock, &verdict, sizeof(verdict), MSG_NOSIGNAL);
        return 0;
}

void cay_front_templates_done(struct cay_front_templates *t)
{
        t->use.set = NULL;
        if (t->folder > 0)
                close(t->folder);
        t->folder = -1;
        cay_registry_free(cay_take(t->registry));
}

/* Logged once for each folder that replaced another. */
static void note_replaced(struct cay_front_templates *t, const struct cay_template *row, int fd)
{
        size_t at = (size_t)(row - t->use.set->rows) % CAY_FRONT_ROOTS_SEEN;
        struct stat now, then;

        if (fstat(fd, &now) < 0 || fstat(row->root_fd, &then) < 0 ||
            (now.st_dev == then.st_dev && now.st_ino == then.st_ino) ||
            (now.st_dev == t->seen[at].dev && now.st_ino == t->seen[at].ino))
                return;
        t->seen[at].dev = now.st_dev;
        t->seen[at].ino = now.st_ino;
        cay_log_warn("a template's rootfs was replaced: new sandboxes have the new one",
                     "template=%s rootfs=%s", row->name, row->root_text);
}

static int open_rootfs(struct cay_front_templates *t, const struct cay_template *row, struct cay_error *err)
{
        int fd = t->folder > 0 ? sys_open_beneath(t->folder, row->root_text, O_PATH | O_DIRECTORY, 0)
                               : -ENOENT;

        if (fd == -EMFILE || fd == -ENFILE)
                return cay_fail_sys(err, CAY_LIMIT, fd, "open the rootfs of template '%s'", row->name);
        if (fd < 0)
                return cay_fail_sys(err, CAY_CONFLICT, fd,
                                    "template: the rootfs '%.80s' of '%s' can no longer be opened; put it "
                                    "back, or change the registry",
                                    row->root_text, row->name);
        note_replaced(t, row, fd);
        return fd;
}

int cay_front_templates_open(struct cay_front_templates *t, const char *name,
                             enum cay_template_kind *ret_kind, int *ret_fd, struct cay_error *err)
{
        const struct cay_template *row = cay_template_find(t->use.set, name);

        *ret_kind = CAY_TEMPLATE_HOST;
        *ret_fd = -1;
        if (!row && strcmp(name, CAY_TEMPLATE_DEFAULT) == 0)
                return 0;
        if (!row)
                return cay_fail(err, CAY_NOT_FOUND, "template: '%.80s' does not exist (any more)", name);
        if (cay_template_check(row, err) < 0)
                return -1;
        if (row->root != CAY_TEMPLATE_ROOT_ROOTFS)
                return 0;
        *ret_fd = open_rootfs(t, row, err);
        if (*ret_fd < 0)
                return -1;
        *ret_kind = CAY_TEMPLATE_ROOTFS;
        return 0;
}
