/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording of a session, as events of rrweb. Clients play them with rrweb's player, which builds a
 * document and applies changes to it.
 *
 * What Cay records are pictures, not documents. So the document is one picture as large as the page, and each
 * frame is a change of its source; the pointer is where it was. Nothing of the recorded pages runs in the
 * player, and nothing of them is asked for again. The archive of the recording (screencast.h) is read member
 * by member while it is sent on; one frame is held at a time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "foundation/base/base64.h"
#include "foundation/base/json_view.h"
#include "foundation/base/str.h"
#include "foundation/tar/tar_reader.h"

#define MEMBER_MAX (5u << 20) /* bytes of a frame */
#define EVENT_MAX (8u << 20)  /* of it in text, and what is around */

/* Of rrweb: kinds of events, of changes, and of nodes. */
enum { FULL = 2, CHANGE = 3, META = 4 };
enum { CHANGE_NODES = 0, CHANGE_POINTER = 1 };
enum { NODE_DOCUMENT = 0, NODE_TYPE = 1, NODE_ELEMENT = 2 };
#define BODY_ID "5"
#define PICTURE_ID "6"

struct replay {
        struct bb_request *q;
        struct cay_tar_sink sink;
        struct cay_tar_reader reader;
        struct cay_buf member, out;
        enum { OTHER, HEAD, FACTS, PICTURE } kind; /* of the member */
        uint64_t started_ms;
        ssize_t queued;     /* in the answer */
        bool has_event;     /* one was written */
        bool is_documented; /* the picture is there, of the size below */
        /* of the frame */
        uint64_t at_ms, width, height, x, y;
        bool has_pointer;
        char url[1024];
};

static struct replay *of_sink(struct cay_tar_sink *sink)
{
        return cay_container_of(sink, struct replay, sink);
}

static void free_replay(void *state)
{
        struct replay *r = state;

        cay_buf_done(&r->member);
        cay_buf_done(&r->out);
        free(r);
}

/* Events */

static void begin_event(struct replay *r, unsigned type)
{
        cay_buf_printf(&r->out, "%s{\"type\":%u,\"timestamp\":%llu,\"sessionId\":\"%s\",\"data\":",
                       r->has_event ? "," : "", type, (unsigned long long)(r->started_ms + r->at_ms),
                       r->q->id);
        r->has_event = true;
}

static void put_source(struct replay *r)
{
        cay_buf_puts(&r->out, "\"src\":\"data:image/jpeg;base64,");
        cay_base64_encode(cay_buf_data(&r->member), r->member.len, &r->out);
        cay_buf_puts(&r->out, "\"");
}

static void put_meta(struct replay *r)
{
        struct cay_json j;

        begin_event(r, META);
        cay_json_init(&j, &r->out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "href", r->url);
        cay_op_key_u64(&j, "width", r->width);
        cay_op_key_u64(&j, "height", r->height);
        cay_json_end_object(&j);
        cay_json_end(&j);
        cay_buf_puts(&r->out, "}");
}

static void put_document(struct replay *r)
{
        begin_event(r, FULL);
        cay_buf_printf(
                &r->out,
                "{\"initialOffset\":{\"left\":0,\"top\":0},\"node\":{\"type\":%d,\"id\":1,\"childNodes\":["
                "{\"type\":%d,\"name\":\"html\",\"publicId\":\"\",\"systemId\":\"\",\"id\":2},"
                "{\"type\":%d,\"tagName\":\"html\",\"attributes\":{},\"id\":3,\"childNodes\":["
                "{\"type\":%d,\"tagName\":\"head\",\"attributes\":{},\"id\":4,\"childNodes\":[]},"
                "{\"type\":%d,\"tagName\":\"body\",\"attributes\":{\"style\":\"margin: 0\"},\"id\":" BODY_ID
                ",\"childNodes\":["
                "{\"type\":%d,\"tagName\":\"img\",\"id\":" PICTURE_ID ",\"childNodes\":[],\"attributes\":{"
                "\"style\":\"display: block; width: %llupx; height: %llupx\",",
                NODE_DOCUMENT, NODE_TYPE, NODE_ELEMENT, NODE_ELEMENT, NODE_ELEMENT, NODE_ELEMENT,
                (unsigned long long)r->width, (unsigned long long)r->height);
        put_source(r);
        cay_buf_puts(&r->out, "}}]}]}]}}}");
}

static void put_change(struct replay *r)
{
        begin_event(r, CHANGE);
        cay_buf_printf(
                &r->out,
                "{\"source\":%d,\"texts\":[],\"removes\":[],\"adds\":[],\"attributes\":[{\"id\":" PICTURE_ID
                ",\"attributes\":{",
                CHANGE_NODES);
        put_source(r);
        cay_buf_puts(&r->out, "}}]}}");
}

static void put_pointer(struct replay *r)
{
        begin_event(r, CHANGE);
        cay_buf_printf(&r->out,
                       "{\"source\":%d,\"positions\":[{\"x\":%llu,\"y\":%llu,\"id\":" BODY_ID
                       ",\"timeOffset\":0}]}}",
                       CHANGE_POINTER, (unsigned long long)r->x, (unsigned long long)r->y);
}

static int send_out(struct replay *r)
{
        r->queued = bb_write(r->q, cay_buf_data(&r->out), r->out.len);
        cay_buf_done(&r->out);
        return r->queued < 0 ? -1 : 0;
}

/* Members */

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        struct replay *r = of_sink(sink);
        size_t len = strlen(m->name);

        (void)err;
        cay_buf_clear(&r->member);
        r->kind = strcmp(m->name, "recording.json") == 0                  ? HEAD
                  : m->name[0] < '0' || m->name[0] > '9' || len < 5       ? OTHER
                  : strcmp(m->name + len - strlen(".json"), ".json") == 0 ? FACTS
                  : strcmp(m->name + len - strlen(".jpg"), ".jpg") == 0   ? PICTURE
                                                                          : OTHER;
        return 0;
}

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        struct replay *r = of_sink(sink);

        if (r->kind != OTHER && cay_buf_put(&r->member, bytes, len) < 0)
                return cay_fail(err, CAY_LIMIT, "no memory for a frame");
        return 0;
}

static uint64_t number_of(struct cay_json_view object, const char *name)
{
        uint64_t ret = 0;

        cay_json_view_u64(cay_json_view_find(object, name), &ret);
        return ret;
}

static void read_facts(struct replay *r, struct cay_json_view v)
{
        uint64_t width = number_of(v, "width"), height = number_of(v, "height");

        r->is_documented &= width == r->width && height == r->height;
        r->width = width;
        r->height = height;
        r->at_ms = number_of(v, "at_ms");
        r->has_pointer = cay_json_view_find(v, "x").len > 0;
        r->x = number_of(v, "x");
        r->y = number_of(v, "y");
        cay_json_view_copy(cay_json_view_find(v, "url"), r->url, sizeof(r->url));
}

static int on_member_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        struct replay *r = of_sink(sink);
        struct cay_json_view v;

        if (r->kind == OTHER)
                return 0;
        if (r->kind == PICTURE) {
                if (!r->is_documented)
                        put_meta(r);
                r->is_documented ? put_change(r) : put_document(r);
                r->is_documented = true;
                if (r->has_pointer)
                        put_pointer(r);
                return send_out(r) < 0 ? cay_fail(err, CAY_UNAVAILABLE, "the client is gone") : 0;
        }
        if (cay_json_view_open(cay_buf_data(&r->member), r->member.len, &v) < 0)
                return cay_fail(err, CAY_DAMAGED, "the recording is damaged");
        if (r->kind == HEAD)
                r->started_ms = number_of(v, "started_ms");
        else
                read_facts(r, v);
        return 0;
}

/* The stream */

static int on_begin(struct bb_request *q, const struct cay_op_bytes *bytes)
{
        (void)bytes;
        if (bb_begin(q, BB_JSON, CAY_HTTP_NO_LENGTH) < 0)
                return -EPIPE;
        return bb_write(q, "[", 1) < 0 ? -EPIPE : 0;
}

static ssize_t on_bytes(struct bb_request *q, const void *bytes, size_t len)
{
        struct replay *r = q->state;
        struct cay_error err = { 0 };

        r->queued = 0;
        return cay_tar_reader_feed(&r->reader, bytes, len, &err) < 0 ? -EPIPE : r->queued;
}

static void on_end(struct bb_request *q, bool was_cut)
{
        if (was_cut || bb_write(q, "]", 1) < 0)
                bb_cut(q);
        else
                bb_end(q);
}

static void on_list(struct bb_request *q, const struct cay_json_value *answer)
{
        static const struct cay_tar_sink_ops sink_ops = { .member = on_member,
                                                          .data = on_data,
                                                          .end = on_member_end };
        static const struct bb_stream_ops ops = { .on_begin = on_begin,
                                                  .on_bytes = on_bytes,
                                                  .on_end = on_end };
        const struct cay_json_value *first = cay_json_value_at(cay_json_value_find(answer, "recordings"), 0);
        cay_auto_call_args struct cay_call_args args = { 0 };
        const char *id = first ? bb_text(first, "recording_id") : NULL;
        cay_auto_buf struct cay_buf none = { 0 };
        struct replay *r;

        if (!id) {
                cay_buf_init(&none, 8);
                cay_buf_puts(&none, "[]");
                bb_answer(q, 200, &none);
                return;
        }
        r = calloc(1, sizeof(*r));
        if (!r) {
                bb_fail_memory(q);
                return;
        }
        q->state = r;
        q->free_state = free_replay;
        r->q = q;
        r->sink.ops = &sink_ops;
        cay_tar_reader_init(&r->reader, &r->sink);
        cay_buf_init(&r->member, MEMBER_MAX);
        cay_buf_init(&r->out, EVENT_MAX);
        bb_charge(q, &r->member); /* while the client reads nothing, what has come of a frame stays */
        bb_args_begin(q, &args);
        cay_op_key_text(&args.j, "recording", id);
        bb_ask_stream(q, "browser_record_export", &args, &ops);
}

static void ask_list(struct bb_request *q)
{
        bb_ask_session(q, "browser_record_list", on_list);
}

static void run_recording(struct bb_request *q)
{
        bb_look(q, ask_list);
}

static const struct bb_row rows[] = {
        { "GET /v1/sessions/{id}/recording", run_recording, 0 },
};

const struct bb_rows bb_recording_rows = { rows, CAY_COUNT(rows) };
