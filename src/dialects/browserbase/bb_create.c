/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/sessions: a sandbox, its browser, an address for it. What Cay has no field for is a label. A
 * feature that would not be there is refused: a caller that asks for it must not believe that it has it. If
 * the client goes away meanwhile (it tries again then), what was made is removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/browserbase/bb_priv.h"
#include "domain/model/port_clock.h"
#include "domain/ops/view.h"
#include "domain/settings/config.h"
#include "foundation/base/str.h"

#define KEPT_S 300  /* after the browser's end, as the browser's own rule has it */
#define START_S 120 /* until it has begun */
#define VALUES_MAX 8192u

struct creating {
        int64_t seconds, width, height;
        bool keeps, persists, has_width, has_height;
        char context[BB_ID_LEN + 1]; /* "": none */
        struct cay_error why;        /* of a failure after which the sandbox is removed */
};

static const struct cay_json_value *settings_of(const struct bb_request *q)
{
        return bb_member(q, "browserSettings");
}

/* What is asked for */

static int check_missing(const struct bb_request *q, struct cay_error *err)
{
        static const struct {
                const char *name, *why;
        } flags[] = {
                { "solveCaptchas", "captchas are not solved here; leave it out or set it to false" },
                { "verified", "there are no verified browsers here" },
                { "advancedStealth", "there is no stealth mode here" },
                { "blockAds", "advertisements are not blocked here; deny their hosts with allowedDomains" },
        };
        const struct cay_json_value *settings = settings_of(q),
                                    *body = q->body ? cay_json_in_root(q->body) : NULL,
                                    *proxies = cay_json_value_find(body, "proxies");
        const char *os = bb_text(settings, "os");

        for (unsigned i = 0; i < CAY_COUNT(flags); i++)
                if (bb_flag(settings, flags[i].name, false))
                        return cay_fail(err, CAY_INVALID, "browserSettings.%s: %s", flags[i].name,
                                        flags[i].why);
        if (bb_flag(body, "proxies", false) || cay_json_value_count(proxies) > 0 ||
            bb_has(body, "proxySettings"))
                return cay_fail(
                        err, CAY_INVALID,
                        "proxies: there are none here; what a session reaches is decided by its network");
        if (bb_has(body, "extensionId") || bb_has(settings, "extensionId"))
                return cay_fail(err, CAY_INVALID, "extensionId: extensions are not supported here");
        if (os && strcmp(os, "linux") != 0)
                return cay_fail(err, CAY_INVALID,
                                "browserSettings.os: '%.20s' is not there; browsers run on linux", os);
        return 0;
}

static int check_region(const struct bb_request *q, struct cay_error *err)
{
        static const char *const regions[] = { "us-west-2", "us-east-1", "eu-central-1", "ap-southeast-1" };
        const char *region = bb_text(q->body ? cay_json_in_root(q->body) : NULL, "region");

        for (unsigned i = 0; region && i < CAY_COUNT(regions); i++)
                if (strcmp(region, regions[i]) == 0)
                        return 0;
        return region ? cay_fail(err, CAY_INVALID,
                                 "region: must be us-west-2, us-east-1, eu-central-1 or ap-southeast-1")
                      : 0;
}

static int read_context(const struct bb_request *q, struct creating *c, struct cay_error *err)
{
        const struct cay_json_value *context = cay_json_value_find(settings_of(q), "context");
        const char *id = bb_text(context, "id");

        if (cay_json_value_type(context) == CAY_JSON_NULL)
                return 0;
        if (!id || strlen(id) != BB_ID_LEN || !bb_id_is_one(id))
                return cay_fail(err, CAY_INVALID, "browserSettings.context.id: must be the id of a context");
        cay_str_copy(c->context, sizeof(c->context), id);
        c->persists = bb_flag(context, "persist", false);
        return 0;
}

static int read_body(const struct bb_request *q, struct creating *c, struct cay_error *err)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL,
                                    *viewport = cay_json_value_find(settings_of(q), "viewport");

        c->seconds = BB_SECONDS;
        if (bb_has(body, "timeout") && (!bb_number(body, "timeout", &c->seconds) ||
                                        c->seconds < BB_SECONDS_MIN || c->seconds > BB_SECONDS_MAX))
                return cay_fail(err, CAY_INVALID, "timeout: must be from %d to %d seconds", BB_SECONDS_MIN,
                                BB_SECONDS_MAX);
        if (bb_has(body, "userMetadata") &&
            cay_json_value_type(cay_json_value_find(body, "userMetadata")) != CAY_JSON_OBJECT)
                return cay_fail(err, CAY_INVALID, "userMetadata: must be an object");
        c->keeps = bb_flag(body, "keepAlive", false);
        c->has_width = bb_number(viewport, "width", &c->width);
        c->has_height = bb_number(viewport, "height", &c->height);
        if ((c->has_width && (c->width < 100 || c->width > 4096)) ||
            (c->has_height && (c->height < 100 || c->height > 4096)))
                return cay_fail(err, CAY_INVALID,
                                "browserSettings.viewport: width and height must be from 100 to 4096 pixels");
        if (check_missing(q, err) < 0 || check_region(q, err) < 0)
                return -1;
        return read_context(q, c, err);
}

/* The sandbox */

struct copying {
        struct cay_json *j;
        struct cay_buf *values; /* names of those that are no texts */
        bool is_bad;
};

static bool copy_pair(void *ctx, const char *name, const struct cay_json_value *value)
{
        struct copying *c = ctx;
        cay_auto_buf struct cay_buf text = { 0 };

        cay_json_key(c->j, name);
        if (cay_json_value_type(value) == CAY_JSON_TEXT) {
                cay_json_value_put(c->j, value);
                return true;
        }
        cay_buf_init(&text, VALUES_MAX);
        if (strchr(name, '|') || cay_json_value_print(value, &text) < 0 ||
            cay_buf_printf(c->values, "%s%s|", c->values->len == 0 ? "|" : "", name) < 0)
                c->is_bad = true;
        cay_json_text(c->j, cay_buf_data(&text));
        return !c->is_bad;
}

static int put_metadata(const struct bb_request *q, struct cay_json *j, struct cay_buf *values,
                        struct cay_error *err)
{
        const struct cay_json_value *metadata = bb_member(q, "userMetadata");
        struct copying c = { j, values, false };

        if (cay_json_value_count(metadata) == 0)
                return 0;
        cay_json_key(j, "metadata");
        cay_json_begin_object(j);
        cay_json_value_each(metadata, copy_pair, &c);
        cay_json_end_object(j);
        return c.is_bad ? cay_fail(err, CAY_INVALID,
                                   "userMetadata: values that are not texts are too large, or a name has '|' "
                                   "in it")
                        : 0;
}

static void put_labels(const struct bb_request *q, const struct creating *c, struct cay_json *j,
                       const char *values)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;
        const char *project = bb_text(body, "projectId"), *region = bb_text(body, "region");
        struct cay_clock_reading now;

        q->world->clock->read(q->world->clock, &now);
        cay_json_key(j, "labels");
        cay_json_begin_object(j);
        cay_op_key_text(j, BB_LABEL_SESSION, "yes");
        if (project)
                cay_op_key_text(j, BB_LABEL_PROJECT, project);
        if (region)
                cay_op_key_text(j, BB_LABEL_REGION, region);
        if (c->keeps)
                cay_op_key_text(j, BB_LABEL_KEEP, "yes");
        if (c->context[0])
                cay_op_key_text(j, BB_LABEL_CONTEXT, c->context);
        if (values[0])
                cay_op_key_text(j, BB_LABEL_VALUES, values);
        cay_op_key_time(j, BB_LABEL_EXPIRES, now.wall_ms + (uint64_t)c->seconds * 1000);
        cay_json_end_object(j);
}

static void put_network(const struct bb_request *q, struct cay_json *j)
{
        const struct cay_json_value *domains = cay_json_value_find(settings_of(q), "allowedDomains");
        char below[300];

        if (cay_json_value_count(domains) == 0) {
                if (strcmp(q->world->config->browserbase_network, "bridge") == 0)
                        cay_op_key_text(j, "network", "bridge");
                return;
        }
        cay_op_key_text(j, "network", "list");
        cay_json_key(j, "allow");
        cay_json_begin_array(j);
        for (size_t i = 0; i < cay_json_value_count(domains); i++) {
                const char *domain = cay_json_value_text(cay_json_value_at(domains, i));

                cay_json_text(j, domain ? domain : "");
                if (domain && domain[0] != '*' &&
                    snprintf(below, sizeof(below), "*.%s", domain) < (int)sizeof(below))
                        cay_json_text(j, below);
        }
        cay_json_end_array(j);
}

static void put_volume(const struct creating *c, struct cay_json *j)
{
        char volume[BB_VOLUME_MAX], text[BB_VOLUME_MAX + 40];

        if (!c->context[0])
                return;
        bb_context_volume(c->context, volume);
        snprintf(text, sizeof(text), "%s:" BB_PROFILE "%s", volume, c->persists ? "" : ":ro");
        cay_json_key(j, "volumes");
        cay_json_begin_array(j);
        cay_json_text(j, text);
        cay_json_end_array(j);
}

static int put_sandbox(const struct bb_request *q, const struct creating *c, struct cay_json *j,
                       struct cay_error *err)
{
        cay_auto_buf struct cay_buf values = { 0 };

        cay_buf_init(&values, VALUES_MAX);
        cay_op_key_text(j, "name", q->id);
        cay_op_key_text(j, "template", "browser");
        cay_op_key_u64(j, "timeout", (uint64_t)c->seconds + START_S + KEPT_S);
        cay_op_key_u64(j, "idle_timeout", 0);
        cay_op_key_u64(j, "browser_seconds", (uint64_t)c->seconds);
        if (!c->keeps)
                cay_op_key_bool(j, "browser_follows", true);
        if (put_metadata(q, j, &values, err) < 0)
                return -1;
        put_labels(q, c, j, cay_buf_data(&values));
        put_network(q, j);
        put_volume(c, j);
        return 0;
}

/* Steps */

static void on_removed(struct bb_request *q, const struct cay_json_value *answer)
{
        const struct creating *c = q->state;

        (void)answer;
        bb_fail(q, &c->why);
}

static void on_not_removed(struct bb_request *q, const struct cay_error *err)
{
        (void)err; /* it ends by itself */
        on_removed(q, NULL);
}

static void undo(struct bb_request *q, const struct cay_error *err)
{
        struct creating *c = q->state;

        c->why = *err;
        q->on_fail = on_not_removed;
        bb_ask_session(q, "sandbox_destroy", on_removed);
}

/* True: nobody waits for it any more, and it is being removed. */
static bool was_left(struct bb_request *q)
{
        const struct cay_error gone = { .code = CAY_UNAVAILABLE, .msg = "the client went away" };

        if (q->is_gone)
                undo(q, &gone);
        return q->is_gone;
}

static void on_recording(struct bb_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        if (!was_left(q))
                bb_show(q);
}

static void on_started(struct bb_request *q, const struct cay_json_value *answer)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        const struct creating *c = q->state;

        if (!bb_flag(settings_of(q), "recordSession", false)) {
                on_recording(q, answer);
                return;
        }
        if (was_left(q))
                return;
        bb_args_begin(q, &args);
        cay_op_key_u64(&args.j, "time", (uint64_t)c->seconds);
        q->on_fail = undo;
        bb_ask(q, "browser_record_start", &args, on_recording);
}

static void on_made(struct bb_request *q, const struct cay_json_value *answer)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        const struct creating *c = q->state;

        (void)answer;
        if (was_left(q))
                return;
        bb_args_begin(q, &args);
        if (c->has_width)
                cay_op_key_u64(&args.j, "width", (uint64_t)c->width);
        if (c->has_height)
                cay_op_key_u64(&args.j, "height", (uint64_t)c->height);
        cay_op_key_bool(&args.j, "ignore_certificate_errors",
                        bb_flag(settings_of(q), "ignoreCertificateErrors", false));
        cay_op_key_bool(&args.j, "logs", bb_flag(settings_of(q), "logSession", true));
        if (c->context[0]) {
                cay_op_key_text(&args.j, "profile", BB_PROFILE "/profile");
                cay_op_key_bool(&args.j, "copy", !c->persists);
        }
        q->on_fail = undo;
        bb_ask(q, "browser_start", &args, on_started);
}

static void make_sandbox(struct bb_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        const struct creating *c = q->state;
        struct cay_error err = { 0 };

        bb_id_make(q->id);
        cay_call_args_begin(&args);
        if (put_sandbox(q, c, &args.j, &err) < 0)
                bb_fail(q, &err);
        else
                bb_ask(q, "sandbox_create", &args, on_made);
}

static void run_create(struct bb_request *q)
{
        struct creating *c = calloc(1, sizeof(*c));
        struct cay_error err = { 0 };

        q->state = c;
        q->free_state = free;
        if (!c)
                bb_fail_memory(q);
        else if (read_body(q, c, &err) < 0)
                bb_fail(q, &err);
        else if (c->context[0])
                bb_context_check(q, c->context, make_sandbox);
        else
                make_sandbox(q);
}

static const struct bb_row rows[] = {
        { "POST /v1/sessions", run_create, BB_TAKES_JSON | BB_FINISHES },
};

const struct bb_rows bb_create_rows = { rows, CAY_COUNT(rows) };
