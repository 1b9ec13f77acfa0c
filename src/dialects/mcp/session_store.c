/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions over HTTP in the store, so that they outlive a front: who they belong to, what was agreed on, what
 * they made without a name. Each is one value, "mcp.session.ID", a small JSON object; it goes with its
 * session. What a session was told or asked is not in it: requests that were under way end with their front,
 * and clients notice by their connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/log.h"
#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/session.h"

#define PREFIX "mcp.session."
#define VALUE_MAX (CAY_MCP_MADE_MAX * (CAY_NAME_MAX + 8u) + 2048u)

struct write {
        struct cay_store_commit commit;
        char name[sizeof(PREFIX) + CAY_MCP_ID];
};

static void on_written(struct cay_job *job)
{
        struct write *w = cay_container_of(job, struct write, commit.job);

        if (job->err.code != CAY_OK)
                cay_log_warn("a session of MCP is not stored: it ends with this front", "error=%s",
                             job->err.msg);
        free(w);
}

static int put_value(const struct cay_mcp_session *s, struct cay_buf *out)
{
        const struct cay_mcp_client *p = &s->client;
        struct cay_json j;

        cay_buf_init(out, VALUE_MAX);
        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "owner", p->caller.owner);
        cay_op_key_u64(&j, "scopes", p->caller.scopes);
        cay_op_key_text(&j, "sandbox", p->sandbox);
        cay_op_key_text(&j, "version", p->version);
        cay_op_key_text(&j, "groups", p->groups);
        cay_op_key_u64(&j, "level", p->level);
        cay_op_key_bool(&j, "can_elicit", p->can_elicit);
        cay_json_key(&j, "made");
        cay_json_begin_array(&j);
        for (const struct cay_mcp_made *m = p->made; m; m = m->next)
                cay_json_text(&j, m->id);
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        return cay_json_end(&j);
}

/* value NULL: it is dropped. */
static void store(const struct cay_mcp_session *s, const char *value)
{
        struct cay_store *db = s->client.mcp->world->store;
        struct write *w = calloc(1, sizeof(*w));
        struct cay_store_value record = { .value = value };
        struct cay_store_batch *b;

        if (!w)
                return;
        snprintf(w->name, sizeof(w->name), PREFIX "%s", s->id);
        record.name = w->name;
        b = db->ops->begin(db);
        if (value)
                db->ops->put(b, CAY_STORE_VALUE, &record);
        else
                db->ops->drop(b, CAY_STORE_VALUE, w->name);
        cay_job_init(&w->commit.job, on_written);
        db->ops->commit(db, b, CAY_STORE_FAST, &w->commit);
}

void cay_mcp_session_keep(struct cay_mcp_session *s)
{
        cay_auto_buf struct cay_buf value = { 0 };

        if (!s->client.mcp->world->store || s->client.mcp->is_stopping || !s->client.version[0])
                return;
        if (put_value(s, &value) == 0)
                store(s, cay_buf_data(&value));
}

void cay_mcp_session_drop(struct cay_mcp_session *s)
{
        if (s->client.mcp->world->store && !s->client.mcp->is_stopping && s->client.version[0])
                store(s, NULL);
}

/* At the front's start */

static const char *text_of(const struct cay_json_value *v, const char *key)
{
        const char *text = cay_json_value_text(cay_json_value_find(v, key));

        return text ? text : "";
}

static uint64_t number_of(const struct cay_json_value *v, const char *key)
{
        int64_t n = 0;

        return cay_json_value_i64(cay_json_value_find(v, key), &n) && n > 0 ? (uint64_t)n : 0;
}

static void fill(struct cay_mcp_session *s, const struct cay_json_value *v)
{
        const struct cay_json_value *made = cay_json_value_find(v, "made");
        struct cay_mcp_client *p = &s->client;

        snprintf(p->version, sizeof(p->version), "%s", text_of(v, "version"));
        p->level = (enum cay_mcp_level)number_of(v, "level");
        if (p->level > CAY_MCP_SILENT)
                p->level = CAY_MCP_SILENT;
        p->can_elicit = cay_json_value_is_true(cay_json_value_find(v, "can_elicit"));
        for (size_t i = cay_json_value_count(made); i > 0; i--) {
                const char *id = cay_json_value_text(cay_json_value_at(made, i - 1));

                if (id)
                        cay_mcp_client_made(p, id);
        }
        /* Streams of an earlier front are unknown: their numbers must not be reused. */
        s->next_stream = (unsigned)(cay_mcp_now(p->mcp) / 1000) & 0x3fffffffu;
}

static bool load(void *ctx, const void *record)
{
        const struct cay_store_value *v = record;
        struct cay_mcp *m = ctx;
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        struct cay_visitor who = { 0 };
        struct cay_mcp_place place = { 0 };
        const struct cay_json_value *root;
        struct cay_mcp_session *s;

        if (strncmp(v->name, PREFIX, strlen(PREFIX)) != 0 || strlen(v->name) != strlen(PREFIX) + CAY_MCP_ID)
                return true;
        if (cay_json_in_parse(v->value, strlen(v->value), NULL, &doc, &err) < 0)
                return true;
        root = cay_json_in_root(doc);
        snprintf(who.caller.owner, sizeof(who.caller.owner), "%s", text_of(root, "owner"));
        who.caller.scopes = (unsigned)number_of(root, "scopes");
        snprintf(place.sandbox, sizeof(place.sandbox), "%s", text_of(root, "sandbox"));
        snprintf(place.groups, sizeof(place.groups), "%s", text_of(root, "groups"));
        s = text_of(root, "version")[0] ? cay_mcp_session_new(m, &who, &place, &err) : NULL;
        if (!s)
                return true;
        snprintf(s->id, sizeof(s->id), "%s", v->name + strlen(PREFIX));
        fill(s, root);
        s->is_restored = true;
        return true;
}

/* Unreadable sessions are ignored; clients then begin a new one. */
void cay_mcp_session_load(struct cay_mcp *m)
{
        struct cay_error err = { 0 };

        m->is_loading = true;
        if (m->world->store &&
            m->world->store->ops->load(m->world->store, CAY_STORE_VALUE, load, m, &err) < 0)
                cay_log_warn("sessions of MCP could not be read", "error=%s", err.msg);
        m->is_loading = false;
}
