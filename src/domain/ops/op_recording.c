/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was recorded of a sandbox: its figures and terminals, and one terminal as asciicast. A recording is
 * read in slices of a round of the loop each, so that a long one keeps nobody waiting.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "domain/ops/files.h"
#include "domain/ops/recording_read.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "domain/recordings/cast.h"
#include "foundation/base/str.h"

#define TERMINALS_MAX 1000u
#define TITLE_MAX 200u
#define CAST_PIECE (2u * 1024 * 1024) /* of one entry: every byte escaped */

struct args {
        const char *id, *exec;
};

#define ID_FIELD                                                                                             \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "id or name of the sandbox",             \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }

/* Figures and terminals */

struct terminal {
        char id[CAY_NAME_MAX + 1], title[TITLE_MAX + 1];
        uint64_t from_ms, to_ms, bytes;
        bool is_over;
};

struct listing {
        struct cay_recording_read read;
        struct cay_op_call *call;
        struct terminal *terminals; /* owned */
        unsigned count;
        uint64_t commands, files, last_ms;
};

static struct terminal *find(struct listing *l, const char *id)
{
        for (unsigned i = l->count; i-- > 0;)
                if (strcmp(l->terminals[i].id, id) == 0)
                        return &l->terminals[i];
        return NULL;
}

static void add_terminal(struct listing *l, const struct cay_recorded_exec *x, uint64_t at_ms)
{
        struct terminal *more =
                l->count < TERMINALS_MAX ? realloc(l->terminals, (l->count + 1) * sizeof(*more)) : NULL;

        if (!more)
                return;
        l->terminals = more;
        more += l->count++;
        *more = (struct terminal){ .from_ms = at_ms, .to_ms = at_ms };
        cay_str_copy(more->id, sizeof(more->id), x->id);
        cay_recorded_exec_title(x, more->title, sizeof(more->title));
}

static int on_listed(struct cay_recording_read *r, struct cay_item *item, struct cay_error *err)
{
        struct listing *l = cay_container_of(r, struct listing, read);
        struct cay_recorded_exec x;
        struct terminal *t;
        struct cay_view text;

        l->last_ms = item->at_ms;
        l->files += item->kind == CAY_ITEM_FILE;
        if (item->kind == CAY_ITEM_EXEC) {
                l->commands++;
                if (cay_recorded_exec_read(item, &x, err) < 0)
                        return -1;
                if (x.flags & CAY_RECORDING_TTY)
                        add_terminal(l, &x, item->at_ms);
                cay_recorded_exec_done(&x);
        } else if (item->kind == CAY_ITEM_OUTPUT || item->kind == CAY_ITEM_END) {
                t = find(l, cay_item_word(item));
                if (t) {
                        cay_item_next(item, &text);
                        t->bytes += item->kind == CAY_ITEM_OUTPUT ? text.len : 0;
                        t->to_ms = item->at_ms;
                        t->is_over |= item->kind == CAY_ITEM_END;
                }
        }
        return 0;
}

static void put_terminals(struct cay_json *j, const struct listing *l, uint64_t began_ms)
{
        cay_json_key(j, "terminals");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < l->count; i++) {
                const struct terminal *t = &l->terminals[i];

                cay_json_begin_object(j);
                cay_op_key_text(j, "exec_id", t->id);
                cay_op_key_text(j, "command", t->title);
                cay_op_key_time(j, "started_at", began_ms + t->from_ms);
                cay_op_key_u64(j, "duration_ms", t->to_ms - t->from_ms);
                cay_op_key_u64(j, "bytes", t->bytes);
                cay_op_key_bool(j, "ended", t->is_over);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void on_list_end(struct cay_recording_read *r, const struct cay_error *err)
{
        struct listing *l = cay_container_of(r, struct listing, read);
        struct cay_op_call *c = l->call;
        const struct args *a = c->args;
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_recording_view view;
        struct cay_sandbox_view box;
        struct cay_error why = *err;
        struct cay_op_result o;

        if (why.code == CAY_OK &&
            cay_service_recording_get(c->world->service, &viewer, a->id, &view, &why) == 0 &&
            cay_service_get(c->world->service, &viewer, a->id, &box, &why) == 0) {
                cay_op_result_begin(&o, c);
                cay_op_key_text(&o.j, "sandbox_id", box.id);
                cay_op_key_text(&o.j, "snapshot_id", view.snapshot);
                cay_op_key_time(&o.j, "began_at", view.began_wall_ms);
                cay_op_key_u64(&o.j, "duration_ms", l->last_ms);
                cay_op_key_u64(&o.j, "commands", l->commands);
                cay_op_key_u64(&o.j, "files", l->files);
                cay_op_key_u64(&o.j, "bytes", view.bytes);
                cay_op_key_u64(&o.j, "limit", CAY_RECORDING_MAX);
                cay_op_key_text(&o.j, "stopped", view.stopped[0] ? view.stopped : NULL);
                put_terminals(&o.j, l, view.began_wall_ms);
                cay_op_result_answer(&o, c, CAY_OP_OK);
        } else {
                cay_op_fail(c, &why, "id");
        }
        free(l->terminals);
        free(l);
}

static void run_get(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct listing *l = cay_op_alloc(c, sizeof(*l));

        if (!l)
                return;
        l->call = c;
        l->read.on_item = on_listed;
        l->read.on_end = on_list_end;
        cay_recording_read_begin(&l->read, c->world, &viewer, a->id);
}

static const struct cay_field get_fields[] = { ID_FIELD, {} };

RESULT(result_terminal, "RecordedTerminal", TEXT("exec_id"), TEXT("command"), TIME("started_at"),
       NUMBER("duration_ms"), NUMBER("bytes"), BOOL("ended"));
RESULT(result_get, "Recording", TEXT("sandbox_id"), TEXT("snapshot_id"), TIME("began_at"),
       NUMBER("duration_ms"), NUMBER("commands"), NUMBER("files"), NUMBER("bytes"), NUMBER("limit"),
       MAYBE("stopped", TEXT), LIST("terminals", result_terminal));

const struct cay_op cay_op_recording_get = {
        .name = "recording_get",
        .route = "GET /api/sandboxes/{id}/recording",
        .doc = "Shows what is recorded of a sandbox: since when, how much, whether it ended (stopped: limit, "
               "disk, undone), and its terminals",
        .scope = CAY_SCOPE_READ,
        .fields = get_fields,
        .args_size = sizeof(struct args),
        .result = &result_get,
        .verb = CAY_OP_VERB(
                "recording", "id",
                "Shows what is recorded of a sandbox that was created with --record. With --json also its\n"
                "terminals, for `cay cast`.",
                "snapshot=snapshot_id began=began_at commands=commands files=files bytes=bytes "
                "limit=limit stopped=stopped"),
        .run = run_get,
};

/* One terminal */

struct casting {
        struct cay_recording_read read;
        struct cay_op_call *call;
        struct cay_cast cast;
        struct cay_buf line;
        uint64_t began_ms;
        char id[CAY_NAME_MAX + 1];
        bool begun, is_over, was_cut;
};

static const struct cay_op_bytes cast_head = { .type = "application/x-asciicast",
                                               .length = CAY_OP_UNKNOWN_LENGTH,
                                               .name = "terminal.cast" };

static int put_head(struct casting *k, const struct cay_recorded_exec *x, uint64_t at_ms,
                    struct cay_error *err)
{
        char title[TITLE_MAX + 1];
        const struct cay_cast_head head = { .rows = x->rows,
                                            .cols = x->cols,
                                            .wall_ms = k->began_ms + at_ms,
                                            .title = title,
                                            .term = x->term[0] ? x->term : "xterm-256color" };

        if (!(x->flags & CAY_RECORDING_TTY))
                return cay_fail(err, CAY_INVALID, "exec: '%s' had no terminal", x->id);
        cay_recorded_exec_title(x, title, sizeof(title));
        k->cast.from_ms = at_ms;
        k->begun = true;
        if (cay_cast_head(&head, &k->line) < 0 || cay_op_begin(k->call, &cast_head) < 0)
                k->was_cut = true;
        return 0;
}

static int find_exec(struct casting *k, struct cay_item *item, struct cay_error *err)
{
        struct cay_recorded_exec x;
        int r = 0;

        if (cay_recorded_exec_read(item, &x, err) < 0)
                return -1;
        if (strcmp(x.id, k->id) == 0)
                r = put_head(k, &x, item->at_ms, err);
        cay_recorded_exec_done(&x);
        return r;
}

static int put_item(struct casting *k, struct cay_item *item)
{
        struct cay_view text;

        if (strcmp(cay_item_word(item), k->id) != 0)
                return 0;
        if (item->kind == CAY_ITEM_RESIZE)
                return cay_cast_resize(&k->cast, item->at_ms, item->numbers[0], item->numbers[1], &k->line);
        if (item->kind == CAY_ITEM_OUTPUT && cay_item_next(item, &text))
                return cay_cast_output(&k->cast, item->at_ms, text.ptr, text.len, &k->line);
        k->is_over = item->kind == CAY_ITEM_END;
        return k->is_over ? cay_cast_end(&k->cast, item->at_ms, &k->line) : 0;
}

/* Sends what there is; the reading waits while the client is slow. */
static void send(struct casting *k)
{
        ssize_t queued = k->line.len > 0 ? cay_op_write(k->call, cay_buf_data(&k->line), k->line.len) : 0;

        cay_buf_clear(&k->line);
        if (queued < 0)
                k->was_cut = true;
        else if (queued >= (ssize_t)CAY_OP_HIGH)
                cay_recording_read_hold(&k->read);
}

static int on_cast_item(struct cay_recording_read *r, struct cay_item *item, struct cay_error *err)
{
        struct casting *k = cay_container_of(r, struct casting, read);

        if (k->is_over)
                return 0;
        if (item->kind == CAY_ITEM_BEGIN)
                k->began_ms = item->numbers[0];
        if (item->kind == CAY_ITEM_EXEC && !k->begun && find_exec(k, item, err) < 0)
                return -1;
        if (k->begun &&
            (item->kind == CAY_ITEM_OUTPUT || item->kind == CAY_ITEM_RESIZE || item->kind == CAY_ITEM_END) &&
            put_item(k, item) < 0)
                k->was_cut = true;
        if (k->begun && !k->was_cut)
                send(k);
        return k->was_cut ? cay_fail(err, CAY_UNAVAILABLE, "the client is gone") : 0;
}

static void on_cast_end(struct cay_recording_read *r, const struct cay_error *err)
{
        struct casting *k = cay_container_of(r, struct casting, read);
        struct cay_op_call *c = k->call;
        struct cay_error why = *err;
        bool begun = k->begun;

        if (why.code == CAY_OK && !begun)
                cay_fail(&why, CAY_NOT_FOUND, "exec: '%.63s' is not in the recording", k->id);
        cay_buf_done(&k->line);
        free(k);
        if (begun && why.code == CAY_OK)
                cay_op_end(c);
        else if (begun)
                cay_op_abort(c);
        else
                cay_op_fail(c, &why, "exec");
}

static void on_drain(struct cay_op_call *c)
{
        cay_recording_read_go_on(&((struct casting *)c->state)->read);
}

static void on_gone(struct cay_op_call *c)
{
        struct casting *k = c->state;

        k->was_cut = true;
        cay_recording_read_cancel(&k->read);
}

static void run_cast(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct casting *k = cay_op_alloc(c, sizeof(*k));

        if (!k)
                return;
        k->call = c;
        c->state = k;
        c->on_drain = on_drain;
        c->on_gone = on_gone;
        cay_str_copy(k->id, sizeof(k->id), a->exec);
        cay_buf_init(&k->line, CAST_PIECE);
        k->read.on_item = on_cast_item;
        k->read.on_end = on_cast_end;
        cay_recording_read_begin(&k->read, c->world, &viewer, a->id);
}

static const struct cay_field cast_fields[] = {
        ID_FIELD,
        { "exec", CAY_FIELD_TEXT, offsetof(struct args, exec), 0, "the terminal's exec id (recording_get)",
          .min = 1, .max = CAY_NAME_MAX },
        {},
};

const struct cay_op cay_op_recording_cast = {
        .name = "recording_cast",
        .route = "GET /api/sandboxes/{id}/recording/{exec}/cast",
        .doc = "Returns a recorded terminal as asciicast v2: its output and sizes with their times",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM | CAY_OP_BYTES,
        .fields = cast_fields,
        .args_size = sizeof(struct args),
        .bytes = "application/x-asciicast",
        .run = run_cast,
};
