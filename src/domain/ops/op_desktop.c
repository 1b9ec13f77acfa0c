/* SPDX-License-Identifier: Apache-2.0 */
/* The desktop of a sandbox: starting it with a size, changing the size, looking at it, and ending it. */
#include <string.h>

#include "domain/desktop/desktop.h"
#include "domain/desktop/seats.h"
#include "domain/ops/computer.h"
#include "domain/ops/files.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/base/str.h"

struct args {
        const char *id;
        uint64_t width, height;
};

static const struct cay_field one_fields[] = { CAY_OP_SANDBOX_FIELD(struct args, id), {} };
static const struct cay_field start_fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        { "width", CAY_FIELD_U64, offsetof(struct args, width), 0, "of the screen in pixels; default 1280",
          .min = CAY_DESKTOP_SIDE_MIN, .max = CAY_DESKTOP_SIDE_MAX },
        { "height", CAY_FIELD_U64, offsetof(struct args, height), 0, "of the screen in pixels; default 800",
          .min = CAY_DESKTOP_SIDE_MIN, .max = CAY_DESKTOP_SIDE_MAX },
        {},
};

RESULT(result_desktop, "Desktop", TEXT("status"), MAYBE("width", NUMBER), MAYBE("height", NUMBER),
       MAYBE("exec_id", TEXT), TIME("started_at"), MAYBE("cause", TEXT), MAYBE("cause_text", TEXT));

/* view NULL: there was none. */
static void put_desktop(struct cay_json *j, const struct cay_exec_view *view, unsigned width, unsigned height)
{
        bool ended = view && view->state == CAY_EXEC_ENDED;
        struct cay_error why = { 0 };

        cay_op_key_text(j, "status", !view || ended ? "stopped" : width > 0 ? "running" : "starting");
        cay_json_key(j, "width");
        width > 0 ? cay_json_u64(j, width) : cay_json_null(j);
        cay_json_key(j, "height");
        width > 0 ? cay_json_u64(j, height) : cay_json_null(j);
        cay_op_key_text(j, "exec_id", view ? view->id : NULL);
        cay_op_key_time(j, "started_at", view ? view->started_wall_ms : 0);
        cay_op_key_text(j, "cause", ended ? cay_cause_word(view->cause) : NULL);
        if (ended)
                cay_desktop_tell_ended(view, &why);
        cay_op_key_text(j, "cause_text", ended ? why.msg : NULL);
}

static void answer(struct cay_op_call *c, const char *sandbox, unsigned width, unsigned height,
                   enum cay_op_status status)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_exec_view view;
        struct cay_error none = { 0 };
        bool found = cay_desktop_find(c->world, &viewer, sandbox, &view, &none) == 0;
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        put_desktop(&o.j, found ? &view : NULL, width, height);
        cay_op_result_answer(&o, c, status);
}

static void answer_open(struct cay_computer *m)
{
        unsigned width = m->rfb.width, height = m->rfb.height;
        enum cay_op_status status = m->use.was_started ? CAY_OP_CREATED : CAY_OP_OK;
        char sandbox[CAY_NAME_MAX + 1];
        struct cay_op_call *c;

        cay_str_copy(sandbox, sizeof(sandbox), m->use.sandbox);
        c = cay_computer_finish(m);
        if (c)
                answer(c, sandbox, width, height, c->op->other_status == CAY_OP_CREATED ? status : CAY_OP_OK);
}

/* Starting */

struct starting {
        struct cay_computer m; /* first */
        unsigned width, height;
        uint64_t sizes; /* that had come before the request */
        bool is_asked;
};

static void on_size(struct cay_computer *m)
{
        struct starting *s = cay_container_of(m, struct starting, m);
        struct cay_error err = { 0 };

        if (!s->is_asked || m->rfb.sizes == s->sizes)
                return;
        if (m->rfb.width == s->width && m->rfb.height == s->height) {
                answer_open(m);
                return;
        }
        s->sizes = m->rfb.sizes;
        if (m->rfb.size_status == 0)
                return;
        cay_fail(&err, CAY_CONFLICT,
                 "the desktop refuses %u × %u pixels; stop it and start it with that size", s->width,
                 s->height);
        cay_computer_fail(m, &err);
}

/* Resizing needs to be negotiated: the server must have told its screens once. */
static void on_start_news(struct cay_computer *m)
{
        struct starting *s = cay_container_of(m, struct starting, m);

        if (s->is_asked) {
                on_size(m);
                return;
        }
        if (!m->rfb.has_screen)
                return;
        if (m->rfb.width == s->width && m->rfb.height == s->height) {
                answer_open(m);
                return;
        }
        s->is_asked = true;
        s->sizes = m->rfb.sizes;
        m->rfb.follows = true;
        cay_rfb_resize(&m->rfb, s->width, s->height);
        cay_rfb_ask(&m->rfb, true);
        cay_computer_send(m);
}

static void on_start_ready(struct cay_computer *m)
{
        const struct args *a = m->call->args;
        struct starting *s = cay_container_of(m, struct starting, m);

        s->width = a->width ? (unsigned)a->width : m->rfb.width;
        s->height = a->height ? (unsigned)a->height : m->rfb.height;
        if (m->use.was_started)
                cay_seat_forget(m->use.world->seats, m->use.sandbox);
        if (s->width == m->rfb.width && s->height == m->rfb.height)
                answer_open(m);
}

static void run_desktop_start(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct starting *s = cay_computer_new(c, sizeof(*s));

        if (!s)
                return;
        s->m.use.width = (unsigned)a->width;
        s->m.use.height = (unsigned)a->height;
        s->m.rfb.wants_screen = true;
        s->m.on_ready = on_start_ready;
        s->m.on_news = on_start_news;
        cay_computer_begin(&s->m, a->id);
}

const struct cay_op cay_op_desktop_start = {
        .name = "desktop_start",
        .route = "POST /api/sandboxes/{id}/desktop",
        .doc = "Starts the desktop of a sandbox, or changes the size of the one that runs",
        .scope = CAY_SCOPE_EXEC,
        .fields = start_fields,
        .args_size = sizeof(struct args),
        .result = &result_desktop,
        .other_status = CAY_OP_CREATED,
        .tool = CAY_TOOL("Start the desktop",
                         "Starts the desktop with a size, or changes the size of the one that runs.",
                         .flags = CAY_TOOL_REPEATS, .group = "computer"),
        .verb = CAY_OP_VERB("desktop start", "id", NULL,
                            "status=status width=width height=height command=exec_id"),
        .run = run_desktop_start,
};

/* Looking */

static void run_desktop_get(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view box;
        struct cay_exec_view view;
        struct cay_error none = { 0 };
        struct cay_computer *m;

        if (!cay_op_get_sandbox(c, a->id, &box))
                return;
        if ((box.state != CAY_STATE_READY && box.state != CAY_STATE_BUSY) ||
            cay_desktop_find(c->world, &viewer, box.id, &view, &none) < 0 || view.state == CAY_EXEC_ENDED) {
                answer(c, box.id, 0, 0, CAY_OP_OK);
                return;
        }
        m = cay_computer_new(c, sizeof(*m));
        if (!m)
                return;
        m->use.only_running = true;
        m->on_ready = m->on_lost = answer_open; /* it may have ended meanwhile */
        cay_computer_begin(m, a->id);
}

const struct cay_op cay_op_desktop_get = {
        .name = "desktop_get",
        .route = "GET /api/sandboxes/{id}/desktop",
        .doc = "Tells whether the desktop of a sandbox runs, its size, and why it has ended",
        .scope = CAY_SCOPE_READ,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .result = &result_desktop,
        .verb = CAY_OP_VERB("desktop", "id", NULL,
                            "status=status width=width height=height command=exec_id started=started_at "
                            "cause=cause_text"),
        .run = run_desktop_get,
};

/* Ending */

static void run_desktop_stop(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view box;
        struct cay_exec_view view;
        struct cay_error err = { 0 }, none = { 0 };
        char sandbox[CAY_NAME_MAX + 1];

        if (!cay_op_get_sandbox(c, a->id, &box))
                return;
        cay_str_copy(sandbox, sizeof(sandbox), box.id);
        if (cay_desktop_find(c->world, &viewer, sandbox, &view, &none) == 0 &&
            ((view.state != CAY_EXEC_ENDED &&
              cay_service_exec_kill(c->world->service, &viewer, sandbox, view.id, &err) < 0) ||
             cay_service_exec_leave_context(c->world->service, &viewer, sandbox, view.id, &err) < 0)) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_seat_forget(c->world->seats, sandbox);
        answer(c, sandbox, 0, 0, CAY_OP_OK);
}

const struct cay_op cay_op_desktop_stop = {
        .name = "desktop_stop",
        .route = "DELETE /api/sandboxes/{id}/desktop",
        .doc = "Ends the desktop of a sandbox and its windows",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .result = &result_desktop,
        .tool = CAY_TOOL("Stop the desktop", "Ends the desktop and its windows.", .group = "computer"),
        .verb = CAY_OP_VERB("desktop stop", "id", NULL, "status=status"),
        .run = run_desktop_stop,
};
