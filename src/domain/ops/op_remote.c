/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users' own machines for sandboxes: added with a pairing code for their agents, listed, removed
 * (docs/remote.md).
 */
#include <stdlib.h>
#include <string.h>

#include "domain/auth/machines.h"
#include "domain/auth/scope.h"
#include "domain/network/address.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/base/str.h"

struct args {
        const char *name, *url;
};

struct storing {
        struct cay_store_commit commit;
        struct cay_op_call *call;
        struct cay_machine machine;
};

static const struct cay_field name_fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), 0,
          "the machine's name: 1 to 63 characters a-z, 0-9 or '-'", .min = 1, .max = CAY_NAME_MAX },
        {},
};

static const struct cay_field add_fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), CAY_FIELD_REQUIRED,
          "a name for the machine: 1 to 63 characters a-z, 0-9 or '-'", .min = 1, .max = CAY_NAME_MAX },
        { "url", CAY_FIELD_TEXT, offsetof(struct args, url), 0,
          "where its agent listens (`cay agent --listen`), like wss://HOST: the daemon dials it. Without: "
          "the agent dials",
          .min = 1, .max = CAY_MACHINE_URL_MAX },
        {},
};

static bool has_machines(struct cay_op_call *c)
{
        struct cay_error err = { 0 };

        if (c->world->machines && c->world->key)
                return true;
        cay_fail(&err, CAY_UNAVAILABLE,
                 "this daemon takes no agents of machines: its key could not be read or made");
        cay_op_fail(c, &err, NULL);
        return false;
}

static uint64_t wall_ms(const struct cay_op_call *c)
{
        struct cay_clock_reading now;

        c->world->clock->read(c->world->clock, &now);
        return now.wall_ms;
}

/* Views */

static void put_machine(struct cay_json *j, const struct cay_op_call *c, const struct cay_machine *m)
{
        struct cay_machine_facts f = { 0 };
        bool is_here =
                c->world->machine_facts && c->world->machine_facts(c->world->agents, m->owner, m->name, &f);
        char print[CAY_PROOF_PRINT] = "";

        if (m->paired_wall_ms > 0)
                cay_proof_print(m->key, print);
        cay_op_key_text(j, "name", m->name);
        cay_op_key_text(j, "state",
                        m->is_off               ? "disconnected"
                        : is_here               ? "ready"
                        : m->paired_wall_ms > 0 ? "away"
                                                : "waiting");
        cay_op_key_text(j, "url", m->url);
        cay_op_key_text(j, "problem", is_here || m->is_off ? "" : m->problem);
        cay_op_key_time(j, "next_try_at", is_here || m->is_off ? 0 : m->next_try_wall_ms);
        cay_op_key_text(j, "about", m->about);
        cay_op_key_text(j, "fingerprint", print);
        cay_op_key_time(j, "created_at", m->created_wall_ms);
        cay_op_key_time(j, "paired_at", m->paired_wall_ms);
        cay_op_key_time(j, "connected_at", f.since_wall_ms);
        cay_op_key_time(j, "seen_at", is_here ? f.heard_wall_ms : m->seen_wall_ms);
        cay_op_key_u64(j, "latency_us", f.latency_us);
        cay_op_key_u64(j, "sandboxes", f.boxes);
        cay_op_key_text(j, "commands", !is_here ? "" : f.is_open ? "user" : "isolated");
}

RESULT(result_machine, "Machine", TEXT("name"), TEXT("state"), TEXT("url"), TEXT("problem"),
       TIME("next_try_at"), TEXT("about"), TEXT("fingerprint"), TIME("created_at"), TIME("paired_at"),
       TIME("connected_at"), TIME("seen_at"), NUMBER("latency_us"), NUMBER("sandboxes"), TEXT("commands"));
RESULT(result_added, "MachineAdded", TEXT("name"), TEXT("state"), TEXT("code"), TIME("code_expires_at"),
       TEXT("daemon_fingerprint"), TEXT("command"));
RESULT(result_machines, NULL, LIST("machines", result_machine));

/* Storing */

static void store(struct storing *s, void (*on_done)(struct cay_job *job), bool removes)
{
        struct cay_store *to = s->call->world->store;
        cay_auto_buf struct cay_buf record = { 0 };
        char name[CAY_MACHINE_RECORD_NAME];
        struct cay_store_batch *b;

        cay_buf_init(&record, CAY_MACHINE_RECORD_MAX);
        cay_machine_record_name(&s->machine, name);
        if (!removes && cay_machine_record(&s->machine, &record) < 0) {
                cay_op_fail_memory(s->call);
                free(s);
                return;
        }
        cay_job_init(&s->commit.job, on_done);
        b = to->ops->begin(to);
        if (removes)
                to->ops->drop(b, CAY_STORE_VALUE, name);
        else
                cay_store_put_value(to, b, name, cay_buf_data(&record));
        to->ops->commit(to, b, CAY_STORE_SURE, &s->commit);
}

static struct storing *begin(struct cay_op_call *c)
{
        struct storing *s = calloc(1, sizeof(*s));

        if (s)
                s->call = c;
        else
                cay_op_fail_memory(c);
        return s;
}

static void end(struct storing *s)
{
        explicit_bzero(s, sizeof(*s));
        free(s);
}

/* Adding */

/* Of the address that people use for this daemon. */
static void put_command(struct cay_json *j, const struct cay_op_call *c, const struct cay_machine *m)
{
        const char *url = c->world->url ? c->world->url : "";
        bool is_tls = cay_str_starts(url, "https://");
        const char *rest = is_tls ? url + 8 : cay_str_starts(url, "http://") ? url + 7 : "HOST";
        char text[512];

        if (m->url[0]) {
                snprintf(text, sizeof(text), "cay agent --listen 127.0.0.1:8765 --name %s", m->name);
                cay_op_key_text(j, "command", text);
                return;
        }
        snprintf(text, sizeof(text), "cay agent --connect %s://%.300s/agent --name %s", is_tls ? "wss" : "ws",
                 rest, m->name);
        cay_op_key_text(j, "command", text);
}

static void on_added(struct cay_job *job)
{
        struct storing *s = cay_container_of(job, struct storing, commit.job);
        struct cay_op_call *c = s->call;
        struct cay_error err = job->err;
        char print[CAY_PROOF_PRINT];
        struct cay_op_result o;

        if (err.code == CAY_OK)
                cay_machines_put(c->world->machines, &s->machine, &err);
        if (err.code != CAY_OK) {
                cay_op_fail(c, &err, NULL);
                end(s);
                return;
        }
        if (c->world->machine_changed)
                c->world->machine_changed(c->world->agents, s->machine.owner, s->machine.name);
        cay_proof_print(c->world->key->key, print);
        cay_op_result_begin(&o, c);
        cay_op_key_text(&o.j, "name", s->machine.name);
        cay_op_key_text(&o.j, "state", "waiting");
        cay_op_key_text(&o.j, "code", s->machine.code);
        cay_op_key_time(&o.j, "code_expires_at", s->machine.code_until_wall_ms);
        cay_op_key_text(&o.j, "daemon_fingerprint", print);
        put_command(&o.j, c, &s->machine);
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
        end(s);
}

/*
 * The daemon reaches more than its callers may: only an administrator's machine may be within its own
 * network, or on a connection that is not encrypted. What a name leads to is judged by cay-net each time it
 * is dialled.
 */
static int take_url(const struct cay_op_call *c, const char *text, struct cay_machine *m,
                    struct cay_error *err)
{
        struct cay_machine_url url;
        struct cay_address address;

        if (!text)
                return 0;
        if (cay_machine_url_read(text, &url, err) < 0)
                return -1;
        m->may_private = cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN);
        if (!m->may_private && !url.is_tls)
                return cay_fail(err, CAY_DENIED,
                                "url: ws:// is not encrypted, so it needs scope admin: use wss://");
        if (!m->may_private && cay_address_parse(url.host, &address) && cay_address_why_not_public(&address))
                return cay_fail(err, CAY_DENIED, "url: %s is a %s address, which needs scope admin", url.host,
                                cay_address_why_not_public(&address));
        cay_str_copy(m->url, sizeof(m->url), text);
        return 0;
}

static void run_add(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_error err = { 0 };
        struct storing *s;

        if (!has_machines(c) || !(s = begin(c)))
                return;
        if (cay_machine_make(c->world->machines, c->caller.owner, a->name, wall_ms(c), &s->machine, &err) <
            0) {
                cay_op_fail(c, &err, "name");
                end(s);
                return;
        }
        if (take_url(c, a->url, &s->machine, &err) < 0) {
                cay_op_fail(c, &err, "url");
                end(s);
                return;
        }
        store(s, on_added, false);
}

const struct cay_op cay_op_remote_add = {
        .name = "remote_add",
        .route = "POST /api/machines",
        .doc = "Adds a machine of the caller and answers with the pairing code for its agent, which is shown "
               "once",
        .scope = CAY_SCOPE_EXEC,
        .fields = add_fields,
        .args_size = sizeof(struct args),
        .result = &result_added,
        .status = CAY_OP_CREATED,
        .verb = CAY_OP_VERB(
                "remote add", "name",
                "Adds a machine of yours for sandboxes. It prints a pairing code: run the "
                "command on that machine\n"
                "and type the code there, within 15 minutes. USER@HOST as the name does all of it by "
                "SSH.\n"
                "With --url the daemon dials the agent, which listens behind a tunnel of yours.",
                "machine=name code=code run_there=command daemon=daemon_fingerprint"),
        .run = run_add,
};

/* Looking */

struct listing {
        const struct cay_op_call *call;
        struct cay_json *j;
};

static void put_each(void *ctx, const struct cay_machine *m)
{
        struct listing *l = ctx;

        cay_json_begin_object(l->j);
        put_machine(l->j, l->call, m);
        cay_json_end_object(l->j);
}

static void run_list(struct cay_op_call *c)
{
        struct cay_op_result o;
        struct listing l = { c, &o.j };

        if (!has_machines(c))
                return;
        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "machines");
        cay_json_begin_array(&o.j);
        cay_machines_each(c->world->machines, c->caller.owner, put_each, &l);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_remote_list = {
        .name = "remote_list",
        .route = "GET /api/machines",
        .doc = "Lists the caller's machines for sandboxes: waiting for their agent, ready, or away",
        .scope = CAY_SCOPE_READ,
        .result = &result_machines,
        .verb = CAY_OP_VERB(
                "remote", "",
                "Lists your machines for sandboxes. `cay remote add NAME` adds one, `cay remote "
                "get NAME` shows it,\n"
                "`cay remote disconnect NAME` keeps its agent away until `cay remote connect NAME`, and "
                "`cay remote rm NAME` removes it.\n"
                "`cay remote upgrade USER@HOST` brings the programs of this cay to a machine that was added "
                "by SSH.",
                "machines: NAME=name STATE=state COMMANDS=commands SANDBOXES=sandboxes SEEN=seen_at "
                "FINGERPRINT=fingerprint ABOUT=about NEXT=next_try_at/when PROBLEM=problem"),
        .run = run_list,
};

/* NULL: the call is answered. */
static struct cay_machine *find(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_error err = { 0 };
        struct cay_machine *m;

        if (!has_machines(c))
                return NULL;
        m = cay_machines_find(c->world->machines, c->caller.owner, a->name);
        if (m && !m->is_leaving)
                return m;
        cay_fail(&err, CAY_NOT_FOUND, "there is no machine '%.63s'", a->name);
        cay_op_fail(c, &err, "name");
        return NULL;
}

static void answer_machine(struct cay_op_call *c, const struct cay_machine *m)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        put_machine(&o.j, c, m);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void run_get(struct cay_op_call *c)
{
        const struct cay_machine *m = find(c);

        if (m)
                answer_machine(c, m);
}

const struct cay_op cay_op_remote_get = {
        .name = "remote_get",
        .route = "GET /api/machines/{name}",
        .doc = "Shows one of the caller's machines for sandboxes",
        .scope = CAY_SCOPE_READ,
        .fields = name_fields,
        .args_size = sizeof(struct args),
        .result = &result_machine,
        .verb = CAY_OP_VERB("remote get", "name", "Shows a machine of yours."),
        .run = run_get,
};

/* Disconnecting */

static void on_switched(struct cay_job *job)
{
        struct storing *s = cay_container_of(job, struct storing, commit.job);
        const struct cay_op_world *w = s->call->world;
        struct cay_machine *m = cay_machines_find(w->machines, s->machine.owner, s->machine.name);
        struct cay_error err = job->err;

        if (err.code == CAY_OK && (!m || m->created_wall_ms != s->machine.created_wall_ms))
                cay_fail(&err, CAY_NOT_FOUND, "the machine was removed");
        if (err.code != CAY_OK) {
                cay_op_fail(s->call, &err, NULL);
                end(s);
                return;
        }
        m->is_off = s->machine.is_off;
        m->problem[0] = '\0';
        if (w->machine_changed)
                w->machine_changed(w->agents, m->owner, m->name);
        answer_machine(s->call, m);
        end(s);
}

static void run_switch(struct cay_op_call *c, bool off)
{
        const struct cay_machine *m = find(c);
        struct cay_error err = { 0 };
        struct storing *s;

        if (!m)
                return;
        if (m->paired_wall_ms == 0) {
                cay_fail(&err, CAY_CONFLICT,
                         "machine '%.63s' is not paired yet: remove it if its agent will not connect",
                         m->name);
                cay_op_fail(c, &err, "name");
                return;
        }
        if (m->is_off == off) {
                answer_machine(c, m);
                return;
        }
        s = begin(c);
        if (!s)
                return;
        s->machine = *m;
        s->machine.is_off = off;
        store(s, on_switched, false);
}

static void run_disconnect(struct cay_op_call *c)
{
        run_switch(c, true);
}

static void run_connect(struct cay_op_call *c)
{
        run_switch(c, false);
}

const struct cay_op cay_op_remote_disconnect = {
        .name = "remote_disconnect",
        .route = "POST /api/machines/{name}/disconnect",
        .doc = "Disconnects a machine until it is connected again: its agent is kept away. The sandboxes on "
               "it live on there and cannot be reached",
        .scope = CAY_SCOPE_EXEC,
        .fields = name_fields,
        .args_size = sizeof(struct args),
        .result = &result_machine,
        .verb = CAY_OP_VERB("remote disconnect", "name",
                            "Disconnects a machine of yours until `cay remote connect NAME`: its sandboxes "
                            "live on there, and cannot be reached."),
        .run = run_disconnect,
};

const struct cay_op cay_op_remote_connect = {
        .name = "remote_connect",
        .route = "POST /api/machines/{name}/connect",
        .doc = "Lets a machine in again that was disconnected: its agent comes by itself, or is dialled",
        .scope = CAY_SCOPE_EXEC,
        .fields = name_fields,
        .args_size = sizeof(struct args),
        .result = &result_machine,
        .verb = CAY_OP_VERB("remote connect", "name",
                            "Lets a machine of yours in again that was disconnected; its agent comes within "
                            "half a minute."),
        .run = run_connect,
};

/* Removing */

static void on_removed(struct cay_job *job)
{
        struct storing *s = cay_container_of(job, struct storing, commit.job);
        const struct cay_op_world *w = s->call->world;

        if (job->err.code != CAY_OK) {
                struct cay_machine *m = cay_machines_find(w->machines, s->machine.owner, s->machine.name);

                if (m)
                        m->is_leaving = false;
                cay_op_fail(s->call, &job->err, NULL);
                end(s);
                return;
        }
        cay_machines_drop(w->machines, s->machine.owner, s->machine.name);
        if (w->machine_forget)
                w->machine_forget(w->agents, s->machine.owner, s->machine.name);
        answer_machine(s->call, &s->machine);
        end(s);
}

/* From here on nothing about it is stored any more: that would bring its record back. */
static void run_remove(struct cay_op_call *c)
{
        struct cay_machine *m = find(c);
        struct storing *s = m ? begin(c) : NULL;

        if (!s)
                return;
        s->machine = *m;
        m->is_leaving = true;
        store(s, on_removed, true);
}

const struct cay_op cay_op_remote_remove = {
        .name = "remote_remove",
        .route = "DELETE /api/machines/{name}",
        .doc = "Removes a machine: its agent is disconnected and not let in again, and the sandboxes on it "
               "are lost",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = name_fields,
        .args_size = sizeof(struct args),
        .result = &result_machine,
        .verb = CAY_OP_VERB(
                "remote rm", "name",
                "Removes a machine of yours: its agent is not let in again, and its sandboxes are lost."),
        .run = run_remove,
};
