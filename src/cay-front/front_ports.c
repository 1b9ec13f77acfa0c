/* SPDX-License-Identifier: Apache-2.0 */
/* Published ports that the daemon serves itself. */
#include "cay-front/front_ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/job.h"
#include "foundation/base/log.h"
#include "dialects/mcp/mcp.h"
#include "dialects/page/tty.h"
#include "domain/sandboxes/service.h"
#include "foundation/sys/unix_socket.h"

#define NUMBER_FIRST 1000u /* of listeners; the daemon's own are below */
#define ACCEPTS_MAX 64u    /* per round and slot */
#define BACK_OFF_MS 100u   /* without descriptors */

_Static_assert(CAY_HAND_PORTS_MAX == CAY_SERVICE_OWN_PORTS_MAX, "the service shares out what there is");

struct order { /* what the service waits for */
        struct cay_job *job;
        struct cay_spec_port *ports; /* borrowed until the job is done */
        unsigned pending;
        struct cay_error err; /* the first failure */
};

enum slot_state { SLOT_FREE, SLOT_ASKED, SLOT_OPEN };

struct slot {
        struct cay_front_ports *owner;
        enum slot_state state;
        struct cay_port_host at;
        unsigned number;
        uint16_t host;
        int fd; /* owned; OPEN */
        struct cay_watch watch;
        struct cay_timer back_off;
        struct order *order; /* ASKED; NULL: abandoned */
        unsigned nr;         /* in the order */
};

struct cay_front_ports {
        struct cay_loop *loop;
        struct cay_http_server *http; /* borrowed */
        int keeper;
        unsigned next_number;
        bool is_stopping;
        struct slot slots[CAY_HAND_PORTS_MAX];
};

int cay_front_ports_new(struct cay_loop *loop, int keeper, struct cay_front_ports **ret,
                        struct cay_error *err)
{
        struct cay_front_ports *p = calloc(1, sizeof(*p));

        if (!p)
                return cay_fail(err, CAY_INTERNAL, "no memory for published ports");
        p->loop = loop;
        p->keeper = keeper;
        p->next_number = NUMBER_FIRST;
        for (unsigned i = 0; i < CAY_COUNT(p->slots); i++)
                p->slots[i] = (struct slot){ .owner = p, .fd = -1 };
        *ret = p;
        return 0;
}

bool cay_front_ports_is_own(uint16_t inside)
{
        return inside == CAY_MCP_PORT || inside == CAY_UI_TTY_PORT || inside == CAY_SPEC_DESKTOP_PORT;
}

static int tell_keeper(struct cay_front_ports *p, uint32_t serial, uint32_t port, bool is_drop)
{
        const struct cay_hand_listen say = { .magic = CAY_HAND_MAGIC,
                                             .size = sizeof(say),
                                             .serial = serial,
                                             .port = port,
                                             .is_drop = is_drop };

        return send(p->keeper, &say, sizeof(say), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Orders */

static void settle(struct cay_front_ports *p, struct order *o)
{
        if (--o->pending > 0)
                return;
        cay_job_finish(cay_loop_jobs(p->loop), o->job, o->err.code != CAY_OK ? &o->err : NULL);
        free(o);
}

static void answer(struct slot *s)
{
        struct order *o = cay_take(s->order);

        if (!o)
                return;
        if (s->state == SLOT_OPEN)
                o->ports[s->nr].host = s->host;
        else if (o->err.code == CAY_OK)
                cay_fail(&o->err, CAY_LIMIT,
                         "no host port is free for %u: at most %u are published at once, from %u to %u",
                         s->at.port, CAY_HAND_PORTS_MAX, CAY_HAND_PORT_FIRST, CAY_HAND_PORT_LAST);
        settle(s->owner, o);
}

/* Slots */

static struct slot *find_slot(struct cay_front_ports *p, const char *sandbox, uint16_t inside)
{
        for (unsigned i = 0; i < CAY_COUNT(p->slots); i++) {
                struct slot *s = &p->slots[i];

                if (s->state != SLOT_FREE && s->at.port == inside && strcmp(s->at.sandbox, sandbox) == 0)
                        return s;
        }
        return NULL;
}

static struct slot *new_slot(struct cay_front_ports *p, const char *sandbox, uint16_t inside)
{
        for (unsigned i = 0; i < CAY_COUNT(p->slots); i++) {
                struct slot *s = &p->slots[i];

                if (s->state != SLOT_FREE)
                        continue;
                s->at = (struct cay_port_host){ .port = inside };
                snprintf(s->at.sandbox, sizeof(s->at.sandbox), "%s", sandbox);
                snprintf(s->at.label, sizeof(s->at.label), "%u-%s", inside, sandbox);
                s->number = p->next_number++;
                s->state = SLOT_ASKED;
                return s;
        }
        return NULL;
}

static void free_slot(struct slot *s)
{
        cay_watch_remove(&s->watch);
        cay_timer_clear(&s->back_off);
        if (s->fd >= 0)
                close(cay_take_fd(s->fd));
        s->state = SLOT_FREE;
        answer(s);
}

static void on_back_off(struct cay_timer *t)
{
        struct slot *s = cay_container_of(t, struct slot, back_off);

        cay_watch_set(&s->watch, EPOLLIN);
}

static void on_accept(struct cay_watch *w, uint32_t events)
{
        struct slot *s = cay_container_of(w, struct slot, watch);

        (void)events;
        for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
                int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

                if (fd >= 0) {
                        cay_http_server_accept_take(s->owner->http, fd, s->number); /* refused: closed */
                        continue;
                }
                if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                        if (cay_timer_set(s->owner->loop, &s->back_off, BACK_OFF_MS, on_back_off) == 0)
                                cay_watch_set(&s->watch, 0);
                        return;
                }
                if (errno == EAGAIN)
                        return;
        }
}

static void ask(struct cay_front_ports *p, const char *sandbox, struct order *o, unsigned nr)
{
        struct slot *s = find_slot(p, sandbox, o->ports[nr].inside);
        bool is_new = !s;

        if (s && s->state == SLOT_OPEN) {
                o->ports[nr].host = s->host;
                return;
        }
        if (is_new)
                s = new_slot(p, sandbox, o->ports[nr].inside);
        if (!s) {
                cay_fail(&o->err, CAY_LIMIT, "%u ports of sandboxes are published, which is the maximum",
                         CAY_HAND_PORTS_MAX);
                return;
        }
        if (s->order) /* belongs to an abandoned order */
                answer(s);
        s->order = o;
        s->nr = nr;
        o->pending++;
        if (is_new && tell_keeper(p, s->number, o->ports[nr].host, false) < 0)
                free_slot(s);
}

void cay_front_ports_publish(struct cay_front_ports *p, const char *sandbox, struct cay_spec_port *ports,
                             unsigned count, struct cay_job *job)
{
        struct order *o = calloc(1, sizeof(*o));
        struct cay_error err = { 0 };

        if (!o) {
                cay_fail(&err, CAY_INTERNAL, "no memory for published ports");
                cay_job_finish(cay_loop_jobs(p->loop), job, &err);
                return;
        }
        *o = (struct order){ .job = job, .ports = ports, .pending = 1 };
        for (unsigned i = 0; i < count; i++)
                ask(p, sandbox, o, i);
        settle(p, o);
}

void cay_front_ports_unpublish(struct cay_front_ports *p, const char *sandbox)
{
        for (unsigned i = 0; i < CAY_COUNT(p->slots) && !p->is_stopping; i++) {
                struct slot *s = &p->slots[i];

                if (s->state == SLOT_FREE || strcmp(s->at.sandbox, sandbox) != 0)
                        continue;
                if (s->state == SLOT_OPEN && tell_keeper(p, s->number, s->host, true) < 0)
                        cay_log_warn("a published port stays with the keeper, ignoring", "port=%u", s->host);
                free_slot(s); /* an answer under way finds no slot, and its port is dropped then */
        }
}

/* The keeper */

static void open_slot_take(struct cay_front_ports *p, const struct cay_hand_listening *say, int fd)
{
        uint32_t events = p->http && !p->is_stopping ? EPOLLIN : 0;
        struct slot *s = NULL;

        for (unsigned i = 0; i < CAY_COUNT(p->slots) && !s; i++)
                if (p->slots[i].state == SLOT_ASKED && p->slots[i].number == say->serial)
                        s = &p->slots[i];
        if (s && fd >= 0 && cay_watch_add(p->loop, &s->watch, fd, events, on_accept) == 0) {
                s->fd = fd;
                s->host = (uint16_t)say->port;
                s->state = SLOT_OPEN;
                cay_log_info("port published", "id=%s inside=%u host=%u", s->at.sandbox, s->at.port, s->host);
                answer(s);
                return;
        }
        if (fd >= 0) {
                close(fd);
                tell_keeper(p, say->serial, say->port, true);
        }
        if (s)
                free_slot(s);
}

int cay_front_ports_hear(struct cay_front_ports *p)
{
        struct cay_hand_listening say;
        char peek[sizeof(say) + 1]; /* other messages are longer */
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = recv(p->keeper, peek, sizeof(peek), MSG_PEEK | MSG_DONTWAIT);

        if (n != (ssize_t)sizeof(say))
                return 0;
        n = sys_recv_fds(p->keeper, &say, sizeof(say), fds, &count, MSG_DONTWAIT);
        if (n != (ssize_t)sizeof(say) || say.magic != CAY_HAND_MAGIC || say.size != sizeof(say) ||
            count != (say.port != 0) || say.port > UINT16_MAX) {
                if (n >= 0)
                        sys_close_fds(fds, count);
                return -1;
        }
        open_slot_take(p, &say, count == 1 ? fds[0] : -1);
        return 1;
}

/* Connections */

int cay_front_ports_find(const struct cay_front_ports *p, unsigned listener, struct cay_port_host *ret)
{
        if (listener < NUMBER_FIRST)
                return 0;
        for (unsigned i = 0; i < CAY_COUNT(p->slots); i++) {
                if (p->slots[i].state == SLOT_OPEN && p->slots[i].number == listener) {
                        *ret = p->slots[i].at;
                        return 1;
                }
        }
        return -1;
}

void cay_front_ports_serve(struct cay_front_ports *p, struct cay_http_server *http)
{
        p->http = http;
        for (unsigned i = 0; i < CAY_COUNT(p->slots); i++)
                if (p->slots[i].state == SLOT_OPEN)
                        cay_watch_set(&p->slots[i].watch, EPOLLIN);
}

void cay_front_ports_stop(struct cay_front_ports *p)
{
        p->is_stopping = true;
        for (unsigned i = 0; i < CAY_COUNT(p->slots); i++)
                cay_watch_remove(&p->slots[i].watch);
}

void cay_front_ports_free(struct cay_front_ports *p)
{
        for (unsigned i = 0; p && i < CAY_COUNT(p->slots); i++)
                free_slot(&p->slots[i]);
        free(p);
}
