/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/cdp_sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"

/*
 * A tree, so that removing one with all below it takes as long as there are sessions in it: a browser may
 * nest them as it likes.
 */
struct cay_cdp_session {
        struct cay_cdp_session *next;
        struct cay_cdp_session *above, *below, *beside,
                **back; /* below: the first one; back: what points to it, or NULL */
        struct cay_cdp_client *owner;
        char id[CAY_CDP_SESSION_LEN + 1];
        char page[40]; /* targetId; "": it is of something else */
};

/* Chromium's ids are random; those of a program in its place are as it likes. */
static unsigned bucket(const struct cay_cdp_mux *m, const char *session)
{
        uint64_t h = m->seed;

        for (; *session; session++) {
                h = (h ^ (unsigned char)*session) * 0x9e3779b97f4a7c15ull;
                h ^= h >> 29;
        }
        return (unsigned)(h >> 32) % CAY_CDP_SESSION_BUCKETS;
}

static struct cay_cdp_session *find(const struct cay_cdp_mux *m, const char *session)
{
        struct cay_cdp_session *s = m->sessions[bucket(m, session)];

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
        struct cay_cdp_session *s, *parent = above[0] != '\0' ? find(m, above) : NULL;
        unsigned at = bucket(m, session);

        if (cay_cdp_session_owner(m, session))
                return 0;
        if (c->sessions >= CAY_CDP_SESSIONS_MAX)
                return -ENOSPC;
        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        s->owner = c;
        cay_str_copy(s->id, sizeof(s->id), session);
        if (parent) {
                s->above = parent;
                s->beside = parent->below;
                s->back = &parent->below;
                if (s->beside)
                        s->beside->back = &s->beside;
                parent->below = s;
        }
        s->next = m->sessions[at];
        m->sessions[at] = s;
        c->sessions++;
        return 0;
}

/* Those below it have nothing above them then. */
static void free_session(struct cay_cdp_session **at)
{
        struct cay_cdp_session *s = *at;

        *at = s->next;
        for (struct cay_cdp_session *child = s->below, *beside; child; child = beside) {
                beside = child->beside;
                child->above = child->beside = NULL;
                child->back = NULL;
        }
        if (s->back) {
                *s->back = s->beside;
                if (s->beside)
                        s->beside->back = s->back;
        }
        s->owner->sessions--;
        free(s);
}

static void remove_one(struct cay_cdp_mux *m, struct cay_cdp_session *s)
{
        struct cay_cdp_session **at = &m->sessions[bucket(m, s->id)];

        while (*at != s)
                at = &(*at)->next;
        free_session(at);
}

/* All below are the same client's: they were attached from its sessions. */
void cay_cdp_session_remove(struct cay_cdp_mux *m, const char *session, const struct cay_cdp_client *c)
{
        struct cay_cdp_session *top = find(m, session), *s = top, *above;

        if (!top || top->owner != c)
                return;
        do { /* from the lowest ones up */
                while (s->below)
                        s = s->below;
                above = s == top ? NULL : s->above;
                remove_one(m, s);
                s = above;
        } while (s);
}

/* owner NULL: all */
static void sweep(struct cay_cdp_mux *m, const struct cay_cdp_client *owner)
{
        for (unsigned i = 0; i < CAY_CDP_SESSION_BUCKETS; i++) {
                struct cay_cdp_session **at = &m->sessions[i];

                while (*at) {
                        if (!owner || (*at)->owner == owner)
                                free_session(at);
                        else
                                at = &(*at)->next;
                }
        }
}

void cay_cdp_sessions_drop(struct cay_cdp_mux *m, struct cay_cdp_client *c)
{
        sweep(m, c);
}

void cay_cdp_sessions_clear(struct cay_cdp_mux *m)
{
        sweep(m, NULL);
}
