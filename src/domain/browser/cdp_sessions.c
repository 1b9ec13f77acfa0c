/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/cdp_sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

struct cay_cdp_session {
        struct cay_cdp_session *next;
        struct cay_cdp_client *owner;
        char id[CAY_CDP_SESSION_LEN + 1], above[CAY_CDP_SESSION_LEN + 1];
        char page[40]; /* targetId; "": it is of something else */
};

/* Chromium's ids are random, and of a client's own choice none gets here. */
static unsigned bucket(const char *session)
{
        unsigned n = 0;

        for (unsigned i = 0; i < 4; i++)
                n = n * 16 + (unsigned)(session[i] >= 'A' ? session[i] - 'A' + 10 : session[i] - '0');
        return n % CAY_CDP_SESSION_BUCKETS;
}

static struct cay_cdp_session *find(const struct cay_cdp_mux *m, const char *session)
{
        struct cay_cdp_session *s = m->sessions[bucket(session)];

        while (s && strcmp(s->id, session) != 0)
                s = s->next;
        return s;
}

struct cay_cdp_client *cay_cdp_session_owner(const struct cay_cdp_mux *m, const char *session)
{
        const struct cay_cdp_session *s = find(m, session);

        return s ? s->owner : NULL;
}

void cay_cdp_session_set_page(struct cay_cdp_mux *m, const char *session, const char *page)
{
        struct cay_cdp_session *s = find(m, session);

        if (s)
                cay_str_copy(s->page, sizeof(s->page), page);
}

const char *cay_cdp_session_page(const struct cay_cdp_mux *m, const char *session)
{
        const struct cay_cdp_session *s = session[0] != '\0' ? find(m, session) : NULL;

        return s ? s->page : "";
}

int cay_cdp_session_add(struct cay_cdp_mux *m, const char *session, const char *above,
                        struct cay_cdp_client *c)
{
        struct cay_cdp_session *s;
        unsigned at = bucket(session);

        if (cay_cdp_session_owner(m, session))
                return 0;
        if (c->sessions >= CAY_CDP_SESSIONS_MAX)
                return -ENOSPC;
        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        s->owner = c;
        cay_str_copy(s->id, sizeof(s->id), session);
        cay_str_copy(s->above, sizeof(s->above), above);
        s->next = m->sessions[at];
        m->sessions[at] = s;
        c->sessions++;
        return 0;
}

static void free_session(struct cay_cdp_session **at)
{
        struct cay_cdp_session *s = *at;

        *at = s->next;
        s->owner->sessions--;
        free(s);
}

/* Removes those that match; true: one was. */
static bool sweep(struct cay_cdp_mux *m,
                  bool (*matches)(const struct cay_cdp_mux *m, const struct cay_cdp_session *s,
                                  const void *ctx),
                  const void *ctx)
{
        bool any = false;

        for (unsigned i = 0; i < CAY_CDP_SESSION_BUCKETS; i++) {
                struct cay_cdp_session **at = &m->sessions[i];

                while (*at) {
                        if (matches(m, *at, ctx)) {
                                free_session(at);
                                any = true;
                        } else {
                                at = &(*at)->next;
                        }
                }
        }
        return any;
}

static bool is_orphan(const struct cay_cdp_mux *m, const struct cay_cdp_session *s, const void *ctx)
{
        return s->owner == ctx && s->above[0] != '\0' && !cay_cdp_session_owner(m, s->above);
}

void cay_cdp_session_remove(struct cay_cdp_mux *m, const char *session, const struct cay_cdp_client *c)
{
        struct cay_cdp_session **at = &m->sessions[bucket(session)];

        while (*at && strcmp((*at)->id, session) != 0)
                at = &(*at)->next;
        if (!*at || (*at)->owner != c)
                return;
        free_session(at);
        while (sweep(m, is_orphan, c))
                ;
}

static bool is_owned(const struct cay_cdp_mux *m, const struct cay_cdp_session *s, const void *ctx)
{
        (void)m;
        return s->owner == ctx;
}

void cay_cdp_sessions_drop(struct cay_cdp_mux *m, struct cay_cdp_client *c)
{
        sweep(m, is_owned, c);
}

static bool is_any(const struct cay_cdp_mux *m, const struct cay_cdp_session *s, const void *ctx)
{
        (void)m;
        (void)s;
        (void)ctx;
        return true;
}

void cay_cdp_sessions_clear(struct cay_cdp_mux *m)
{
        sweep(m, is_any, NULL);
}
