/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of one browser; the rules are in cdp_mux.h, owners of sessions in cdp_sessions.c. */
#include "domain/browser/cdp_mux.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "domain/browser/cdp_policy.h"
#include "domain/browser/cdp_sessions.h"
#include "foundation/base/str.h"

#define SLOT_BITS 14
#define SLOTS_MAX (1u << SLOT_BITS)
#define NO_SLOT UINT32_MAX
#define CALLS_FULL "too many calls are unanswered"

/* Codes of JSON-RPC, as Chromium uses them. */
enum { INVALID_REQUEST = -32600, REFUSED = -32000 };

void cay_cdp_mux_init(struct cay_cdp_mux *m)
{
        *m = (struct cay_cdp_mux){ .free_slot = NO_SLOT };
        if (getrandom(&m->seed, sizeof(m->seed), 0) != (ssize_t)sizeof(m->seed))
                m->seed = (uintptr_t)m;
        cay_buf_init(&m->out, CAY_CDP_MESSAGE_MAX + 2 * CAY_CDP_OUT_HIGH);
        cay_buf_init(&m->in, CAY_CDP_MESSAGE_MAX);
        cay_buf_init(&m->small, 64u * 1024);
}

void cay_cdp_mux_done(struct cay_cdp_mux *m)
{
        assert(!m->clients);
        cay_cdp_sessions_clear(m);
        free(m->slots);
        cay_buf_done(&m->out);
        cay_buf_done(&m->in);
        cay_buf_done(&m->small);
}

static void renew_in(struct cay_cdp_mux *m)
{
        cay_buf_init(&m->in, CAY_CDP_MESSAGE_MAX);
        cay_buf_charge(&m->in, m->budget);
}

void cay_cdp_mux_charge(struct cay_cdp_mux *m, struct cay_budget *budget)
{
        m->budget = budget;
        cay_buf_charge(&m->in, budget);
        cay_buf_charge(&m->out, budget);
}

static void tell_clients(struct cay_cdp_mux *m)
{
        if (m->on_clients)
                m->on_clients(m);
}

/* Unanswered calls */

static int grow_slots(struct cay_cdp_mux *m)
{
        uint32_t count = m->slot_count > 0 ? m->slot_count * 2 : 64;
        struct cay_cdp_call_slot *slots;

        if (count > SLOTS_MAX)
                return -ENOSPC;
        slots = realloc(m->slots, count * sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        m->slots = slots;
        for (uint32_t i = count; i-- > m->slot_count;) {
                slots[i] = (struct cay_cdp_call_slot){ .next_free = m->free_slot };
                m->free_slot = i;
        }
        m->slot_count = count;
        return 0;
}

/* The id that the browser gets, or -errno. */
static int32_t take_slot(struct cay_cdp_mux *m, struct cay_cdp_client *c, int32_t id, bool is_attach)
{
        struct cay_cdp_call_slot *slot;
        uint32_t nr;
        int r;

        if (m->free_slot == NO_SLOT && (r = grow_slots(m)) < 0)
                return r;
        nr = m->free_slot;
        slot = &m->slots[nr];
        m->free_slot = slot->next_free;
        slot->client = c;
        slot->id = id;
        slot->is_used = true;
        slot->is_attach = is_attach;
        slot->is_question = false;
        if (c)
                c->calls++;
        return (int32_t)((uint32_t)slot->turn << SLOT_BITS | nr);
}

static void free_slot(struct cay_cdp_mux *m, uint32_t nr)
{
        struct cay_cdp_call_slot *slot = &m->slots[nr];

        if (slot->client)
                slot->client->calls--;
        slot->client = NULL;
        slot->is_used = false;
        slot->turn++;
        slot->next_free = m->free_slot;
        m->free_slot = nr;
}

static struct cay_cdp_call_slot *find_slot(const struct cay_cdp_mux *m, int32_t id)
{
        uint32_t nr = (uint32_t)id & (SLOTS_MAX - 1), turn = (uint32_t)id >> SLOT_BITS;

        if (id < 0 || nr >= m->slot_count || !m->slots[nr].is_used || m->slots[nr].turn != turn)
                return NULL;
        return &m->slots[nr];
}

/* To the browser */

/*
 * The message in the making is complete: it is followed by a NUL, so that there is room for it is checked
 * before.
 */
static int put_out(struct cay_cdp_mux *m, int r, size_t before)
{
        bool was_empty = before == 0;

        if (r == 0 && (r = cay_buf_putc(&m->out, '\0')) < 0)
                cay_buf_cut(&m->out, before);
        if (r == 0 && was_empty && m->on_output)
                m->on_output(m);
        return r;
}

static int put_root(struct cay_cdp_mux *m, struct cay_cdp_client *c, bool is_attach, const char *method,
                    const char *params)
{
        struct cay_json_view view = { params, strlen(params) };
        size_t before = m->out.len;
        int32_t id = take_slot(m, c, 0, is_attach);
        int r;

        if (id < 0)
                return id;
        r = put_out(m, cay_cdp_put_command(&m->out, id, method, view, ""), before);
        if (r < 0)
                free_slot(m, (uint32_t)id & (SLOTS_MAX - 1));
        return r;
}

int cay_cdp_mux_ask(struct cay_cdp_mux *m, int32_t question, const char *method, const char *params)
{
        struct cay_json_view view = { params, strlen(params) };
        size_t before = m->out.len;
        int32_t id = take_slot(m, NULL, question, false);
        uint32_t nr = (uint32_t)id & (SLOTS_MAX - 1);
        int r;

        if (id < 0)
                return id;
        m->slots[nr].is_question = true;
        r = put_out(m, cay_cdp_put_command(&m->out, id, method, view, ""), before);
        if (r < 0)
                free_slot(m, nr);
        return r;
}

static void detach(struct cay_cdp_mux *m, const char *session)
{
        char params[80];

        snprintf(params, sizeof(params), "{\"sessionId\":\"%s\"}", session);
        put_root(m, NULL, false, "Target.detachFromTarget",
                 params); /* without room it stays attached: harmless */
}

void cay_cdp_mux_sent(struct cay_cdp_mux *m, size_t len)
{
        struct cay_cdp_client *c;

        cay_buf_drop(&m->out, len);
        if (m->out.len >= CAY_CDP_OUT_HIGH)
                return;
        do { /* each may close itself and others */
                for (c = m->clients; c && !c->waits_for_room; c = c->next)
                        ;
                if (c) {
                        c->waits_for_room = false;
                        if (c->on_room)
                                c->on_room(c);
                }
        } while (c && m->out.len < CAY_CDP_OUT_HIGH);
}

/* Clients */

int cay_cdp_client_open(struct cay_cdp_mux *m, struct cay_cdp_client *c, struct cay_error *err)
{
        if (m->has_ended)
                return cay_fail(err, CAY_CONFLICT, "the browser has ended");
        if (m->client_count >= CAY_CDP_CLIENTS_MAX)
                return cay_fail(err, CAY_LIMIT, "the browser has %u clients, which is the maximum",
                                m->client_count);
        c->mux = m;
        c->root[0] = '\0';
        c->calls = c->sessions = 0;
        c->waits_for_room = false;
        if (put_root(m, c, true, "Target.attachToBrowserTarget", "{}") < 0) {
                c->mux = NULL;
                return cay_fail(err, CAY_UNAVAILABLE, "the browser takes no more commands now; retry");
        }
        c->next = m->clients;
        m->clients = c;
        m->client_count++;
        tell_clients(m);
        return 0;
}

static void unlink_client(struct cay_cdp_client *c)
{
        struct cay_cdp_mux *m = c->mux;
        struct cay_cdp_client **at = &m->clients;

        while (*at != c)
                at = &(*at)->next;
        *at = c->next;
        m->client_count--;
        for (uint32_t i = 0; i < m->slot_count && c->calls > 0; i++) {
                if (m->slots[i].client == c) {
                        m->slots[i].client = NULL; /* its reply is dropped */
                        c->calls--;
                }
        }
        cay_cdp_sessions_drop(m, c);
        c->next = NULL;
        c->mux = NULL;
}

void cay_cdp_client_close(struct cay_cdp_client *c)
{
        struct cay_cdp_mux *m = c->mux;

        if (!m)
                return;
        unlink_client(c);
        if (c->root[0] != '\0' && !m->has_ended)
                detach(m, c->root);
        tell_clients(m);
}

void cay_cdp_mux_end(struct cay_cdp_mux *m, const struct cay_error *why)
{
        m->has_ended = true;
        while (m->clients) {
                struct cay_cdp_client *c = m->clients;

                unlink_client(c);
                if (c->on_gone)
                        c->on_gone(c, why);
        }
}

static int refuse(struct cay_cdp_refusal *ret, int code, const char *text)
{
        *ret = (struct cay_cdp_refusal){ code, text };
        return 1;
}

/* What was pressed before others took over can be released. */
static bool is_release(const struct cay_cdp_message *in)
{
        char type[16];

        cay_cdp_find_text(in->params, "type", type, sizeof(type));
        return strcmp(type, "mouseReleased") == 0 || strcmp(type, "keyUp") == 0 ||
               strcmp(type, "touchEnd") == 0;
}

/* Parameters that are not passed on as they are: appended to m->small. */
static int change_params(struct cay_cdp_mux *m, const struct cay_cdp_client *c,
                         const struct cay_cdp_message *in, struct cay_json_view *params,
                         struct cay_cdp_refusal *ret)
{
        const char *text = "";

        *params = in->params;
        switch (cay_cdp_rule_of(in->method, &text)) {
        case CAY_CDP_REFUSED:
                return refuse(ret, REFUSED, text);
        case CAY_CDP_INPUT:
                if (m->is_taken && m->is_taken(m, c) && !is_release(in))
                        return refuse(ret, REFUSED, text);
                return 0;
        case CAY_CDP_DOWNLOADS:
                if (!m->downloads)
                        return 0;
                cay_buf_clear(&m->small);
                if (cay_cdp_put_downloads(&m->small, in->params, m->downloads, in->method[0] == 'P') < 0)
                        return -ENOMEM;
                *params = (struct cay_json_view){ cay_buf_data(&m->small), m->small.len };
                return 0;
        case CAY_CDP_AS_IT_IS:
                break;
        }
        return 0;
}

int cay_cdp_client_send(struct cay_cdp_client *c, const struct cay_cdp_message *in,
                        struct cay_cdp_refusal *ret)
{
        struct cay_cdp_mux *m = c->mux;
        struct cay_json_view params;
        size_t before;
        int32_t id;
        int r;

        if (!m || c->root[0] == '\0')
                return -EPIPE;
        if (!in->has_id || in->method[0] == '\0')
                return refuse(ret, INVALID_REQUEST, "a command needs an integer id and a method");
        if (in->session[0] != '\0' && cay_cdp_session_owner(m, in->session) != c)
                return refuse(ret, CAY_CDP_NO_SESSION, "Session with given id not found.");
        if (c->calls >= CAY_CDP_CALLS_MAX)
                return refuse(ret, REFUSED, CALLS_FULL);
        if (m->out.len >= CAY_CDP_OUT_HIGH) {
                c->waits_for_room = true;
                return -EAGAIN;
        }
        r = change_params(m, c, in, &params, ret);
        if (r != 0)
                return r;
        before = m->out.len;
        id = take_slot(m, c, in->id, false);
        if (id == -ENOSPC)
                return refuse(ret, REFUSED, CALLS_FULL);
        if (id < 0)
                return id;
        r = cay_cdp_put_command(&m->out, id, in->method, params, in->session[0] ? in->session : c->root);
        r = put_out(m, r, before);
        if (r < 0)
                free_slot(m, (uint32_t)id & (SLOTS_MAX - 1));
        else if (m->on_command)
                m->on_command(m, c, in);
        return r;
}

/* From the browser */

static void on_attached(struct cay_cdp_mux *m, struct cay_cdp_client *c, const struct cay_cdp_message *in)
{
        const struct cay_error why = { .code = CAY_CONFLICT, .msg = "the browser refused another client" };

        if (cay_cdp_find_session(in->result, "sessionId", c->root) &&
            cay_cdp_session_add(m, c->root, "", c) == 0) {
                if (c->on_ready)
                        c->on_ready(c);
                return;
        }
        c->root[0] = '\0';
        unlink_client(c);
        tell_clients(m);
        if (c->on_gone)
                c->on_gone(c, &why);
}

static void give(struct cay_cdp_client *c, struct cay_cdp_message *in)
{
        if (strcmp(in->session, c->root) == 0)
                in->session[0] = '\0';
        c->on_message(c, in);
}

static void take_reply(struct cay_cdp_mux *m, struct cay_cdp_message *in)
{
        struct cay_cdp_call_slot *slot = find_slot(m, in->id);
        struct cay_cdp_client *c;
        bool is_attach, is_question;

        if (!slot)
                return; /* of a client of an earlier front */
        c = slot->client;
        is_attach = slot->is_attach;
        is_question = slot->is_question;
        in->id = slot->id;
        free_slot(m, (uint32_t)(slot - m->slots));
        if (is_question) {
                if (m->on_told)
                        m->on_told(m, in->id, in);
        } else if (c && is_attach) {
                on_attached(m, c, in);
        } else if (c) {
                give(c, in);
        } else if (is_attach) { /* it left before it was attached */
                char root[CAY_CDP_SESSION_LEN + 1];

                if (cay_cdp_find_session(in->result, "sessionId", root))
                        detach(m, root);
        }
}

/* Sessions begin and end with events on the session above them. */
static void follow_sessions(struct cay_cdp_mux *m, struct cay_cdp_client *c, const struct cay_cdp_message *in)
{
        bool begins = strcmp(in->method, "Target.attachedToTarget") == 0;
        char session[CAY_CDP_SESSION_LEN + 1];

        if (!begins && strcmp(in->method, "Target.detachedFromTarget") != 0)
                return;
        if (!cay_cdp_find_session(in->params, "sessionId", session))
                return;
        if (begins) {
                struct cay_json_view info = cay_cdp_find(in->params, "targetInfo");
                char type[16], page[40];

                cay_cdp_session_add(m, session, in->session, c); /* beyond its limit it stays unknown */
                if (strcmp(cay_cdp_find_text(info, "type", type, sizeof(type)), "page") == 0)
                        cay_cdp_session_set_page(m, session,
                                                 cay_cdp_find_text(info, "targetId", page, sizeof(page)));
        } else {
                cay_cdp_session_remove(m, session, c);
        }
}

static void take_event(struct cay_cdp_mux *m, struct cay_cdp_message *in)
{
        struct cay_cdp_client *c;

        /* of the pipe's own session, which has nothing enabled: attachedToTarget for root sessions */
        if (in->session[0] == '\0')
                return;
        c = cay_cdp_session_owner(m, in->session);
        if (!c) {
                if (m->has_past)
                        detach(m, in->session);
                return;
        }
        follow_sessions(m, c, in);
        if (m->on_event)
                m->on_event(m, in);
        if (c->mux == m)
                give(c, in);
}

static void take_message(struct cay_cdp_mux *m, const char *text, size_t len)
{
        struct cay_cdp_message in;

        if (cay_cdp_message_read(text, len, &in) < 0)
                return; /* not from Chromium, as far as is known */
        if (in.has_id)
                take_reply(m, &in);
        else if (in.method[0] != '\0')
                take_event(m, &in);
}

/* A reply that is not delivered: its client must not wait for ever. */
static void drop_long(struct cay_cdp_mux *m)
{
        static const char text[] = "{\"code\":-32000,\"message\":\"the answer is longer than 64 MiB, or "
                                   "there is no memory for it\"}";
        struct cay_cdp_message in = { .has_id = true, .error = { text, sizeof(text) - 1 } };

        m->drops = true;
        if (!cay_cdp_message_peek_id(cay_buf_data(&m->in), m->in.len, &in.id))
                in.has_id = false;
        cay_buf_done(&m->in);
        renew_in(m);
        if (in.has_id)
                take_reply(m, &in);
}

void cay_cdp_mux_join(struct cay_cdp_mux *m)
{
        size_t before = m->out.len;

        m->drops = true;
        m->has_past = true;
        /* Ends a message that was not sent whole, which Chromium then answers with an error without an id. */
        put_out(m, 0, before);
}

void cay_cdp_mux_feed(struct cay_cdp_mux *m, const char *bytes, size_t len)
{
        while (len > 0 && !m->has_ended) {
                const char *nul = memchr(bytes, '\0', len);
                size_t n = nul ? (size_t)(nul - bytes) : len;

                if (m->drops) {
                        m->drops = !nul;
                } else if (nul && m->in.len == 0) {
                        take_message(m, bytes, n);
                } else if (cay_buf_put(&m->in, bytes, n) < 0) {
                        drop_long(m);
                        m->drops = !nul;
                } else if (nul) {
                        struct cay_buf whole = m->in; /* callbacks see a mux that is ready for the next one */

                        renew_in(m);
                        take_message(m, cay_buf_data(&whole), whole.len);
                        cay_buf_clear(&whole);
                        if (whole.cap <= CAY_CDP_OUT_HIGH && m->in.cap == 0)
                                m->in = whole; /* its memory is used again */
                        else
                                cay_buf_done(&whole);
                }
                n += nul ? 1 : 0;
                bytes += n;
                len -= n;
        }
}
