/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening ports in a sandbox: read from the kernel's tables, inside, as the sandbox's user. Both tables are
 * untrusted input.
 */
#include "domain/ops/files.h"
#include "domain/ops/port_table.h"
#include "domain/ops/result_rows.h"

#define PORTS_MAX 1024u /* in an answer */

struct args {
        const char *id;
};

static const struct cay_field fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        {},
};

static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };

/* The result passes from one table to the next with the call; a channel reads one table. */
struct look {
        struct cay_op_channel base;
        unsigned table;
        struct cay_port_table found;
};

static void look_at(struct cay_op_call *c, unsigned table, const struct look *before);

static void answer(struct look *s)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, s->base.call);
        cay_json_key(&o.j, "ports");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0, port = 0; i < PORTS_MAX && (port = cay_port_table_next(&s->found, port)) > 0;
             i++)
                cay_json_u64(&o.j, port);
        cay_json_end_array(&o.j);
        cay_json_key(&o.j, "count");
        cay_json_u64(&o.j, s->found.count);
        cay_op_key_bool(&o.j, "more", s->found.count > PORTS_MAX || s->found.cut);
        cay_op_result_answer(&o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct look *s = cay_container_of(ch, struct look, base.ch);

        cay_op_channel_ack(&s->base, len);
        cay_port_table_read(&s->found, bytes, len);
}

/* A kernel without IPv6 has no second table. */
static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct look *s = cay_container_of(ch, struct look, base.ch);
        struct cay_op_call *c = s->base.call;

        if (!end || (err && err->code != CAY_OK && err->code != CAY_NOT_FOUND)) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        cay_port_table_end(&s->found);
        if (s->table + 1 == CAY_COUNT(tables)) {
                answer(s);
                return;
        }
        cay_op_channel_finish(&s->base);
        c->on_gone = NULL;
        look_at(c, s->table + 1, s);
}

static void look_at(struct cay_op_call *c, unsigned table, const struct look *before)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_READ, tables[table], false);
        struct look *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return;
        s->table = table;
        if (before)
                s->found = before->found;
        s->base.ch.on_data = on_data;
        s->base.ch.on_end = on_end;
        cay_op_channel_open(&s->base, c, a->id, &open);
}

static void run_port_list(struct cay_op_call *c)
{
        look_at(c, 0, NULL);
}

RESULT(result_ports, NULL, NUMBERS("ports"), NUMBER("count"), BOOL("more"));

const struct cay_op cay_op_port_list = {
        .name = "port_list",
        .route = "GET /api/sandboxes/{id}/ports",
        .doc = "TCP ports that are listened on in a sandbox; each is reached below "
               "/api/sandboxes/{id}/ports/{port}/. The lowest 1,024 are listed; count says how many there "
               "are, more that some are left out",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_INSIDE,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_ports,
        .run = run_port_list,
};
