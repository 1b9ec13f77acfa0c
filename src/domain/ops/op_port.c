/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that are listened on in a sandbox: read from the kernel's own tables, inside, as the sandbox's user. Both are hostile input. */
#include <string.h>

#include "domain/ops/files.h"
#include "domain/ops/result_rows.h"

#define TABLE_MAX (1024u * 1024)
#define PORTS_MAX 1024u
#define LISTENING 0x0aul

struct args {
        const char *id;
};

static const struct cay_field fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        {},
};

static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };

/* What was found goes from one table to the next with the call; a channel has one table. */
struct look {
        struct cay_op_channel base;
        struct cay_buf text;
        unsigned table;
        unsigned count;
        uint16_t ports[PORTS_MAX];
};

static void look_done(struct cay_op_channel *base)
{
        cay_buf_done(&cay_container_of(base, struct look, base)->text);
}

static void note(struct look *s, uint16_t port)
{
        unsigned at = 0;

        while (at < s->count && s->ports[at] < port)
                at++;
        if (s->count == PORTS_MAX || (at < s->count && s->ports[at] == port))
                return;
        memmove(&s->ports[at + 1], &s->ports[at], (s->count - at) * sizeof(s->ports[0]));
        s->ports[at] = port;
        s->count++;
}

/* "  0: 0100007F:1F90 00000000:0000 0A …": the local port and the state. The head line has no colon in its second word. */
static void read_line(struct look *s, char *line)
{
        char *save = NULL, *words[4] = { NULL }, *colon, *end;
        unsigned long port;

        for (unsigned i = 0; i < CAY_COUNT(words); i++) {
                words[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
                if (!words[i])
                        return;
        }
        colon = strrchr(words[1], ':');
        if (!colon || strtoul(words[3], NULL, 16) != LISTENING)
                return;
        port = strtoul(colon + 1, &end, 16);
        if (*end == '\0' && port > 0 && port <= UINT16_MAX)
                note(s, (uint16_t)port);
}

static void read_table(struct look *s)
{
        char *save = NULL;

        for (char *line = strtok_r(cay_buf_data(&s->text), "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
                read_line(s, line);
}

static void look_at(struct cay_op_call *c, unsigned table, const struct look *before);

static void answer(struct look *s)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, s->base.call);
        cay_json_key(&o.j, "ports");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < s->count; i++)
                cay_json_u64(&o.j, s->ports[i]);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct look *s = cay_container_of(ch, struct look, base.ch);
        size_t room = cay_buf_left(&s->text);

        cay_op_channel_ack(&s->base, len);
        cay_buf_put(&s->text, bytes,
                    len < room ? len : room); /* a longer table is cut: there are ports enough */
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
        read_table(s);
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
        struct look *s = calloc(1, sizeof(*s));

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->table = table;
        if (before) {
                s->count = before->count;
                memcpy(s->ports, before->ports, sizeof(s->ports));
        }
        cay_buf_init(&s->text, TABLE_MAX);
        s->base.done = look_done;
        s->base.ch.on_data = on_data;
        s->base.ch.on_end = on_end;
        cay_op_channel_open(&s->base, c, a->id, &open);
}

static void run(struct cay_op_call *c)
{
        look_at(c, 0, NULL);
}

RESULT(result_ports, NULL, NUMBERS("ports"));

const struct cay_op cay_op_port_list = {
        .name = "port_list",
        .route = "GET /api/sandboxes/{id}/ports",
        .doc = "TCP ports that are listened on in a sandbox; each is reached below "
               "/api/sandboxes/{id}/ports/{port}/",
        .scope = CAY_SCOPE_READ,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_ports,
        .run = run,
};
