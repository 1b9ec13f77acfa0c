/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function per message names its fields in order, for writing and for reading: so the two cannot differ.
 * What it reads is checked there, field by field; the sizes are rows of agent_messages.def.
 */
#include "links/agent/agent_message.h"

#include <errno.h>

#include "foundation/base/str.h"
#include "foundation/base/utf8.h"

static const struct row {
        const char *name;
        unsigned from; /* enum agent_side */
        bool has_number;
        uint32_t min, max;
} rows[AGENT_TYPE_COUNT] = {
#define AGENT_MESSAGE(name, from, number, min, max) [AGENT_##name] = { #name, from, number, min, max },
#include "links/agent/agent_messages.def"
#undef AGENT_MESSAGE
};

static const struct {
        bool has_plan, has_channel;
} asks[AGENT_ASK_COUNT] = {
#define AGENT_ASK(name, plan, channel) [AGENT_ASK_##name] = { plan, channel },
#include "links/agent/agent_asks.def"
#undef AGENT_ASK
};

#define ALL_LIMITS 63u

struct io { /* one of the two */
        struct cay_bytes_writer *w;
        struct cay_bytes_reader *r;
        bool is_bad; /* a value that may not be there */
};

static void io_u8(struct io *io, uint8_t *v, uint8_t max)
{
        if (io->w)
                cay_put_u8(io->w, *v);
        else
                *v = cay_get_u8(io->r);
        io->is_bad |= *v > max;
}

static void io_u16(struct io *io, uint16_t *v)
{
        if (io->w)
                cay_put_u16(io->w, *v);
        else
                *v = cay_get_u16(io->r);
}

static void io_u32(struct io *io, uint32_t *v, uint32_t max)
{
        if (io->w)
                cay_put_u32(io->w, *v);
        else
                *v = cay_get_u32(io->r);
        io->is_bad |= *v > max;
}

static void io_u64(struct io *io, uint64_t *v)
{
        if (io->w)
                cay_put_u64(io->w, *v);
        else
                *v = cay_get_u64(io->r);
}

static void io_raw(struct io *io, uint8_t *v, size_t len)
{
        const void *p;

        if (io->w) {
                cay_put_raw(io->w, v, len);
                return;
        }
        p = cay_get_raw(io->r, len);
        if (p)
                memcpy(v, p, len);
}

/* Neither an order to a terminal (C0, DEL, C1) nor one that changes the direction or line of what follows. */
static bool is_plain(uint32_t c)
{
        return c >= ' ' && (c < 0x7f || c > 0x9f) && c != 0x61c && c != 0x200e && c != 0x200f &&
               (c < 0x2028 || c > 0x202e) && (c < 0x2066 || c > 0x2069);
}

bool agent_text_is_plain(const char *text, size_t len)
{
        for (size_t i = 0, n; i < len; i += n) {
                n = cay_utf8_next(text + i, len - i);
                if (n == 0 || !is_plain(cay_utf8_decode(text + i, n)))
                        return false;
        }
        return true;
}

/* A text for people: it may be shown on a terminal, and be what they decide by. */
static void io_text(struct io *io, char *v, uint32_t max)
{
        struct cay_view t;

        if (io->w) {
                cay_put_str(io->w, v, strnlen(v, max));
                return;
        }
        t = cay_get_str(io->r, max);
        if (!io->r->ok)
                return;
        memcpy(v, t.ptr, t.len);
        v[t.len] = '\0';
        io->is_bad |= !agent_text_is_plain(t.ptr, t.len);
}

static void io_name(struct io *io, char *v, bool may_be_empty)
{
        io_text(io, v, CAY_NAME_MAX);
        if (io->r)
                io->is_bad |= v[0] ? !cay_id_is_valid(v) : !may_be_empty;
}

static void hello(struct io *io, struct agent_hello *m)
{
        io_u16(io, &m->version);
        io_name(io, m->name, true);
        io_text(io, m->code_id, AGENT_CODE_ID);
        io_raw(io, m->key, sizeof(m->key));
        io_raw(io, m->nonce, sizeof(m->nonce));
        io_text(io, m->about, AGENT_ABOUT_MAX);
        if (io->r && m->version > AGENT_VERSION) /* so that its agent can be told why it is not understood */
                io->r->at = io->r->end;
}

static void challenge(struct io *io, struct agent_challenge *m)
{
        io_u16(io, &m->version);
        io_raw(io, m->key, sizeof(m->key));
        io_raw(io, m->nonce, sizeof(m->nonce));
        io_raw(io, m->signature, sizeof(m->signature));
        io_raw(io, m->mac, sizeof(m->mac));
}

static void refused(struct io *io, struct agent_refused *m)
{
        io_u8(io, &m->code, CAY_CODE_COUNT - 1);
        io_text(io, m->text, AGENT_TEXT_MAX);
}

static void plan(struct io *io, struct agent_plan *m)
{
        io_raw(io, m->secret, sizeof(m->secret));
        io_u8(io, &m->read_only, 1);
        io_u8(io, &m->host_plain, 1);
        io_u8(io, &m->one_shot, 1);
        io_u32(io, &m->may_skip, ALL_LIMITS);
        io_u64(io, &m->memory_bytes);
        io_u64(io, &m->swap_bytes);
        io_u64(io, &m->cpu_milli);
        io_u64(io, &m->pids);
        io_u64(io, &m->disk_bytes);
        io_u64(io, &m->inodes);
        io_u8(io, &m->mode, AGENT_MODE_COUNT - 1);
        io_text(io, m->folder, AGENT_FOLDER_MAX);
}

static void ask(struct io *io, struct agent_ask *m)
{
        io_u8(io, &m->what, AGENT_ASK_COUNT - 1);
        io->is_bad |= m->what == AGENT_ASK_NONE;
        io_name(io, m->id, false);
        if (io->is_bad)
                return;
        if (asks[m->what].has_channel) {
                io_u32(io, &m->channel, UINT32_MAX);
                io->is_bad |= m->channel == 0;
        }
        if (asks[m->what].has_plan)
                plan(io, &m->plan);
}

static void answer(struct io *io, struct agent_answer *m)
{
        io_u8(io, &m->code, CAY_CODE_COUNT - 1);
        io_text(io, m->text, AGENT_TEXT_MAX);
        if (m->code != CAY_OK)
                return;
        io_u32(io, &m->skipped, ALL_LIMITS);
        io_u32(io, &m->watched, ALL_LIMITS);
        io_u64(io, &m->memory_bytes);
        io_u64(io, &m->memory_peak_bytes);
        io_u64(io, &m->oom_kills);
        io_u64(io, &m->pids);
        io_u64(io, &m->pids_refused);
        io_u64(io, &m->cpu_us);
        io_u8(io, &m->is_open, 1);
        io_text(io, m->workspace, AGENT_WORKSPACE_MAX);
        io->is_bad |= m->workspace[0] && m->workspace[0] != '/';
}

/* The bytes of DATA are all that is left. */
static void data(struct io *io, struct cay_view *m)
{
        if (io->r)
                *m = (struct cay_view){ (const char *)io->r->at, (uint32_t)(io->r->end - io->r->at) };
        if (io->r)
                io->r->at = io->r->end;
}

static void fields(struct io *io, struct agent_message *m)
{
        switch (m->type) {
        case AGENT_hello:
                hello(io, &m->hello);
                break;
        case AGENT_challenge:
                challenge(io, &m->challenge);
                break;
        case AGENT_proof:
                io_raw(io, m->proof.signature, sizeof(m->proof.signature));
                io_raw(io, m->proof.mac, sizeof(m->proof.mac));
                break;
        case AGENT_welcome:
                io_u32(io, &m->welcome.heartbeat_ms, 3600000);
                io_name(io, m->welcome.name, true);
                break;
        case AGENT_refused:
                refused(io, &m->refused);
                break;
        case AGENT_box:
        case AGENT_gone:
                io_name(io, m->id, false);
                break;
        case AGENT_ready:
                io_u32(io, &m->ready.can_hold, ALL_LIMITS);
                io_u8(io, &m->ready.is_open, 1);
                break;
        case AGENT_ping:
        case AGENT_pong:
                io_u64(io, &m->token);
                break;
        case AGENT_ask:
                ask(io, &m->ask);
                break;
        case AGENT_answer:
                answer(io, &m->answer);
                break;
        case AGENT_data:
                data(io, &m->data);
                break;
        case AGENT_credit:
                io_u32(io, &m->credit, UINT32_MAX);
                io->is_bad |= m->credit == 0;
                break;
        case AGENT_end:
        case AGENT_NONE:
        case AGENT_TYPE_COUNT:
                break;
        }
}

int agent_message_write(const struct agent_message *m, uint8_t *ret, size_t size)
{
        const struct row *row = &rows[m->type];
        struct agent_message copy = *m;
        struct cay_bytes_writer w;
        struct io io = { .w = &w };
        uint32_t len;

        cay_writer_init(&w, ret, size);
        cay_put_u32(&w, (uint32_t)m->type);
        cay_put_u32(&w, m->number);
        fields(&io, &copy);
        if (!w.ok || io.is_bad)
                return -EINVAL;
        len = (uint32_t)(w.at - ret) - AGENT_HEAD;
        if (m->type != AGENT_data && (len < row->min || len > row->max))
                return -EINVAL;
        return (int)(AGENT_HEAD + len);
}

int agent_message_read(const void *bytes, size_t len, enum agent_side from, struct agent_message *ret)
{
        struct cay_bytes_reader r;
        struct io io = { .r = &r };
        const struct row *row;
        uint32_t type;

        *ret = (struct agent_message){ 0 };
        cay_reader_init(&r, bytes, len);
        type = cay_get_u32(&r);
        ret->number = cay_get_u32(&r);
        if (!r.ok || type == AGENT_NONE || type >= AGENT_TYPE_COUNT)
                return -EPROTO;
        ret->type = (enum agent_type)type;
        row = &rows[type];
        if (!(row->from & from) || len - AGENT_HEAD < row->min || len - AGENT_HEAD > row->max ||
            (ret->number != 0) != row->has_number)
                return -EPROTO;
        fields(&io, ret);
        return cay_reader_is_done(&r) && !io.is_bad ? 0 : -EPROTO;
}

bool agent_ask_has_channel(enum agent_what what)
{
        return what < AGENT_ASK_COUNT && asks[what].has_channel;
}

void agent_text_set(char ret[AGENT_TEXT_MAX + 1], const char *text)
{
        size_t len = strnlen(text, AGENT_TEXT_MAX + 1), to = 0;

        if (len > AGENT_TEXT_MAX)
                len = AGENT_TEXT_MAX;
        for (size_t i = 0, n; i < len; i += n) {
                n = cay_utf8_next(text + i, len - i);
                if (n == 0 || !is_plain(cay_utf8_decode(text + i, n))) {
                        n = n == 0 ? 1 : n;
                        ret[to++] = '?';
                        continue;
                }
                memcpy(ret + to, text + i, n);
                to += n;
        }
        ret[to] = '\0';
}
