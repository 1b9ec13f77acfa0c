/* SPDX-License-Identifier: Apache-2.0 */
/* Starting desktops and connecting to them. */
#include "domain/ops/desktop_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/desktop/desktop.h"
#include "domain/ops/files.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define READY_MS 30000u /* a desktop takes below one second; a busy machine more */
#define AGAIN_MS 25u
#define REASON_MS 2000u /* a server that dies takes the script with it */
#define LOST "the desktop has ended the connection; retry"
#define LOG_MAX (1024u * 1024) /* of what the desktop's programs print */

struct cay_desktop_start { /* owns itself until the job is done */
        struct cay_desktop_start *next;
        struct cay_desktop_use *use; /* NULL: it has ended */
        const struct cay_op_world *world;
        char owner[CAY_OWNER_MAX + 1], sandbox[CAY_NAME_MAX + 1], size[24];
        bool sees_all;
        struct cay_exec_call exec;
        struct cay_exec_input input;
};

struct search {
        struct cay_exec_view *ret;
        bool found;
};

static void look(void *ctx, const struct cay_exec_view *view)
{
        struct search *s = ctx;

        if (cay_exec_kind_of(view->context) == CAY_EXEC_DESKTOP) {
                *s->ret = *view; /* a later one is newer */
                s->found = true;
        }
}

int cay_desktop_find(const struct cay_op_world *w, const struct cay_viewer *v, const char *sandbox,
                     struct cay_exec_view *ret, struct cay_error *err)
{
        struct search search = { .ret = ret };

        if (cay_service_exec_list(w->service, v, sandbox, look, &search, err) < 0)
                return -1;
        return search.found ? 0 : cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no desktop yet", sandbox);
}

/* Starting */

static void fail(struct cay_desktop_use *u, const struct cay_error *err)
{
        struct cay_error copy = *err;

        cay_desktop_use_end(u);
        u->on_fail(u, &copy);
}

/* Those under way: a command is listed only when it is stored, and uses at once share one desktop. */
static struct cay_desktop_start *starts;

static bool is_starting(const char *sandbox)
{
        const struct cay_desktop_start *s = starts;

        while (s && strcmp(s->sandbox, sandbox) != 0)
                s = s->next;
        return s != NULL;
}

static void end_start(struct cay_desktop_start *s, const struct cay_error *err)
{
        struct cay_desktop_use *u = s->use;
        struct cay_desktop_start **at = &starts;

        while (*at != s)
                at = &(*at)->next;
        *at = s->next;
        if (u)
                u->start = NULL;
        free(s);
        if (u && err->code != CAY_OK)
                fail(u, err);
}

/* A script that ended before it was read says why by its status, which the use looks at. */
static void on_fed(struct cay_job *job)
{
        static const struct cay_error none = { 0 };

        end_start(cay_container_of(job, struct cay_desktop_start, input.job), &none);
}

static void on_started(struct cay_job *job)
{
        struct cay_desktop_start *s = cay_container_of(job, struct cay_desktop_start, exec.job);
        struct cay_viewer viewer = { s->owner, s->sees_all };

        if (job->err.code != CAY_OK) {
                struct cay_error err = job->err;

                end_start(s, &err);
                return;
        }
        s->input.bytes = cay_desktop_script;
        s->input.len = cay_desktop_script_len;
        s->input.eof = true;
        cay_job_init(&s->input.job, on_fed);
        cay_service_exec_input(s->world->service, &viewer, s->sandbox, s->exec.id, &s->input);
}

static int start(struct cay_desktop_use *u, struct cay_error *err)
{
        struct cay_desktop_start *s = calloc(1, sizeof(*s));
        const char *argv[] = { "/bin/sh", "-s", NULL, NULL };
        const struct cay_exec_new what = {
                .argv = argv,
                .has_stdin = true,
                .background = true,
                .output_bytes = LOG_MAX,
                .output_cut = true,
                .context = cay_exec_kind_name(CAY_EXEC_DESKTOP),
                .language = "desktop",
        };

        if (!s)
                return cay_fail(err, CAY_INTERNAL, "no memory for a desktop");
        s->use = u;
        s->world = u->world;
        s->sees_all = u->viewer.sees_all;
        cay_str_copy(s->owner, sizeof(s->owner), u->viewer.owner);
        cay_str_copy(s->sandbox, sizeof(s->sandbox), u->sandbox);
        snprintf(s->size, sizeof(s->size), "%ux%u", u->width ? u->width : CAY_DESKTOP_WIDTH,
                 u->height ? u->height : CAY_DESKTOP_HEIGHT);
        argv[2] = s->size;
        s->next = starts;
        starts = s;
        u->start = s;
        u->was_started = true;
        cay_job_init(&s->exec.job, on_started);
        cay_service_exec(u->world->service, &u->viewer, u->sandbox, &what, &s->exec);
        return 0;
}

/* Connecting */

void cay_desktop_tell_ended(const struct cay_exec_view *view, struct cay_error *err)
{
        static const struct {
                int status;
                const char *text;
        } ends[] = {
                { CAY_DESKTOP_EXIT_FOLDER,
                  "it cannot write into the sandbox's /tmp, which is full or not its own" },
                { CAY_DESKTOP_EXIT_START, "its X server ended at the start" },
                { CAY_DESKTOP_EXIT_SERVER, "its X server ended" },
                { CAY_DESKTOP_EXIT_WM, "its window manager ended" },
        };
        const char *why = view->cause_text[0] != '\0' ? view->cause_text : "its programs ended";
        bool exited = view->cause == CAY_CAUSE_EXITED;

        if (exited && (view->exit_code == CAY_DESKTOP_EXIT_MISSING || view->exit_code == 127)) {
                cay_fail(err, CAY_UNSUPPORTED,
                         "this sandbox has no programs for a desktop; where its template is the machine's "
                         "own /usr, install them there: %s",
                         CAY_DESKTOP_INSTALL);
                return;
        }
        if (view->cause == CAY_CAUSE_MEMORY) {
                cay_fail(
                        err, CAY_LIMIT,
                        "the desktop ended: out of memory; give its sandbox more (limits.memory: at least %u "
                        "MiB, 1 GiB with a browser)",
                        CAY_DESKTOP_MEMORY_MIB);
                return;
        }
        for (unsigned i = 0; exited && i < CAY_COUNT(ends); i++)
                if (view->exit_code == ends[i].status)
                        why = ends[i].text;
        cay_fail(err, CAY_CONFLICT,
                 "the desktop ended: %s; its output is that of the command '%s', and the next use starts it "
                 "again",
                 why, view->id);
}

static void try_socket(struct cay_desktop_use *u);

static void on_again(struct cay_timer *t)
{
        struct cay_desktop_use *u = cay_container_of(t, struct cay_desktop_use, again);
        struct cay_exec_view view;
        struct cay_error err = { 0 };

        if (!is_starting(u->sandbox)) {
                if (cay_desktop_find(u->world, &u->viewer, u->sandbox, &view, &err) < 0) {
                        fail(u, &err);
                        return;
                }
                if (view.state == CAY_EXEC_ENDED) {
                        cay_desktop_tell_ended(&view, &err);
                        fail(u, &err);
                        return;
                }
        }
        try_socket(u);
}

static void wait_again(struct cay_desktop_use *u, const struct cay_error *why)
{
        struct cay_error err = { 0 };

        if (cay_clock_ms() < u->deadline_ms &&
            cay_timer_set(u->world->loop, &u->again, AGAIN_MS, on_again) == 0)
                return;
        cay_fail(&err, CAY_TIMEOUT, "the desktop did not get ready within %u seconds: %s", READY_MS / 1000,
                 why->msg);
        fail(u, &err);
}

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct cay_desktop_use *u = cay_container_of(ch, struct cay_desktop_use, ch);

        if (!u->is_open) {
                u->is_open = true;
                if (u->on_open)
                        u->on_open(u);
                if (u->is_over)
                        return;
        }
        u->on_data(u, bytes, len);
}

static void on_room(struct cay_service_channel *ch)
{
        struct cay_desktop_use *u = cay_container_of(ch, struct cay_desktop_use, ch);

        if (u->on_room)
                u->on_room(u);
}

/* The server has said all: so have we, and on_end follows. */
static void on_eof(struct cay_service_channel *ch)
{
        cay_service_channel_write_eof(ch);
}

static void ask_reason(struct cay_desktop_use *u);

static void on_reason(struct cay_timer *t)
{
        ask_reason(cay_container_of(t, struct cay_desktop_use, again));
}

/* The connection is lost. If the desktop ends, too, it says why. */
static void ask_reason(struct cay_desktop_use *u)
{
        struct cay_exec_view view;
        struct cay_error err = { 0 };

        if (cay_desktop_find(u->world, &u->viewer, u->sandbox, &view, &err) == 0) {
                if (view.state == CAY_EXEC_ENDED)
                        cay_desktop_tell_ended(&view, &err);
                else if (cay_clock_ms() < u->deadline_ms &&
                         cay_timer_set(u->world->loop, &u->again, AGAIN_MS, on_reason) == 0)
                        return;
                else
                        cay_fail(&err, CAY_UNAVAILABLE, LOST);
        }
        fail(u, &err);
}

static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct cay_desktop_use *u = cay_container_of(ch, struct cay_desktop_use, ch);
        struct cay_error lost = { 0 };

        if (!u->is_open && end) {
                struct cay_error copy = { 0 };

                if (err && err->code != CAY_OK)
                        copy = *err;
                else
                        cay_fail(&copy, CAY_UNAVAILABLE, "its server ended the connection");
                wait_again(u, &copy);
                return;
        }
        if (u->waits_for_reason && end) {
                u->deadline_ms = cay_clock_ms() + REASON_MS;
                ask_reason(u);
                return;
        }
        if (err && err->code != CAY_OK)
                lost = *err;
        else
                cay_fail(&lost, CAY_UNAVAILABLE, LOST);
        fail(u, &lost);
}

static void try_socket(struct cay_desktop_use *u)
{
        const struct cay_box_open open = cay_op_file_open(CAY_BOX_SOCKET, CAY_DESKTOP_SOCKET, false);
        struct cay_error err = { 0 };

        u->ch = (struct cay_service_channel){
                .on_data = on_data, .on_eof = on_eof, .on_room = on_room, .on_end = on_end
        };
        if (cay_service_channel_open(u->world->service, &u->viewer, u->sandbox, &open, &u->ch, &err) < 0)
                fail(u, &err);
}

int cay_desktop_use_begin(struct cay_desktop_use *u, const char *sandbox, struct cay_error *err)
{
        struct cay_sandbox_view box;
        struct cay_exec_view view;
        struct cay_error none = { 0 };
        bool runs;

        if (cay_service_get(u->world->service, &u->viewer, sandbox, &box, err) < 0)
                return -1;
        cay_str_copy(u->sandbox, sizeof(u->sandbox), box.id);
        runs = is_starting(u->sandbox) ||
               (cay_desktop_find(u->world, &u->viewer, u->sandbox, &view, &none) == 0 &&
                view.state != CAY_EXEC_ENDED);
        if (!runs && u->only_running)
                return cay_fail(err, CAY_CONFLICT, "sandbox '%s' has no desktop that runs; start it", box.id);
        if (!runs && none.code == CAY_OK) /* the one before is a plain command from now on */
                cay_service_exec_leave_context(u->world->service, &u->viewer, u->sandbox, view.id, &none);
        u->deadline_ms = cay_clock_ms() + READY_MS;
        if (!runs && start(u, err) < 0)
                return -1;
        return cay_timer_set(u->world->loop, &u->again, runs ? 0 : AGAIN_MS, on_again) < 0
                       ? (cay_desktop_use_end(u), cay_fail(err, CAY_INTERNAL, "no memory for a desktop"))
                       : 0;
}

void cay_desktop_use_end(struct cay_desktop_use *u)
{
        u->is_over = true;
        cay_timer_clear(&u->again);
        if (u->start)
                u->start->use = NULL;
        u->start = NULL;
        cay_service_channel_close(&u->ch);
}
