/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP port inside a sandbox as a duplex. */
#include "dialects/rest/port_duplex.h"

#include <errno.h>

#include "domain/sandboxes/channel.h"

struct port {
        struct cay_duplex duplex;
        struct cay_service_channel ch;
        struct cay_deferred release;
        struct cay_loop *loop;
        bool over;             /* the user was notified, or has closed */
        struct cay_error *why; /* borrowed, may be NULL */
};

static struct port *of_duplex(struct cay_duplex *d)
{
        return cay_container_of(d, struct port, duplex);
}

static struct port *of_channel(struct cay_service_channel *ch)
{
        return cay_container_of(ch, struct port, ch);
}

static void release_duplex(struct cay_deferred *d)
{
        free(cay_container_of(d, struct port, release));
}

static void finish(struct port *p)
{
        p->over = true;
        cay_service_channel_close(&p->ch);
        p->release.run = release_duplex;
        cay_loop_defer(p->loop, &p->release);
}

static size_t port_write(struct cay_duplex *d, const void *bytes, size_t len)
{
        return of_duplex(d)->over ? 0 : cay_service_channel_write(&of_duplex(d)->ch, bytes, len);
}

static void port_shut(struct cay_duplex *d)
{
        if (!of_duplex(d)->over)
                cay_service_channel_write_eof(&of_duplex(d)->ch);
}

static void port_consumed(struct cay_duplex *d, size_t len)
{
        if (!of_duplex(d)->over)
                cay_service_channel_ack(&of_duplex(d)->ch, len);
}

static void port_close(struct cay_duplex *d)
{
        if (!of_duplex(d)->over)
                finish(of_duplex(d));
}

static const struct cay_duplex_ops ops = {
        .write = port_write,
        .shut = port_shut,
        .consumed = port_consumed,
        .close = port_close,
};

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct cay_duplex_user *u = of_channel(ch)->duplex.user;

        u->ops->on_data(u, bytes, len);
}

static void on_room(struct cay_service_channel *ch)
{
        struct cay_duplex_user *u = of_channel(ch)->duplex.user;

        u->ops->on_room(u);
}

static void on_eof(struct cay_service_channel *ch)
{
        struct cay_duplex_user *u = of_channel(ch)->duplex.user;

        u->ops->on_eof(u);
}

/* After both directions ended normally this is not a loss. */
static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct port *p = of_channel(ch);
        struct cay_duplex_user *u = p->duplex.user;
        int why = end && end->code == CAY_OK ? 0 : err && err->sys ? -err->sys : -ECONNREFUSED;

        if (p->why && err && err->code != CAY_OK)
                *p->why = *err;
        finish(p);
        u->ops->on_lost(u, why);
}

void cay_port_duplex_forget(struct cay_duplex *d)
{
        of_duplex(d)->why = NULL;
}

struct cay_duplex *cay_port_duplex_open(struct cay_loop *loop, struct cay_service *service,
                                        const struct cay_viewer *v, const char *sandbox, uint16_t port,
                                        struct cay_error *why, struct cay_error *err)
{
        const struct cay_box_open open = { .kind = CAY_BOX_CONNECT, .connect.port = port };
        struct port *p = calloc(1, sizeof(*p));

        if (!p) {
                cay_fail(err, CAY_INTERNAL, "no memory for a port");
                return NULL;
        }
        p->duplex.ops = &ops;
        p->loop = loop;
        p->why = why;
        p->ch.on_data = on_data;
        p->ch.on_room = on_room;
        p->ch.on_eof = on_eof;
        p->ch.on_end = on_end;
        if (cay_service_channel_open(service, v, sandbox, &open, &p->ch, err) < 0) {
                free(p);
                return NULL;
        }
        return &p->duplex;
}
