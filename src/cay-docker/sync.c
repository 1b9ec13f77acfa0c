/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker has, and whether it is there.
 *
 * Theory of operation. Version, facts, the list of our containers, then the stream of events from the moment
 * before that list: so nothing is missed in between. The stream is left after a while and all of it asked
 * again, so that a Docker that hangs is noticed. When the stream breaks or anything fails, Docker is away;
 * all of it begins again after a pause, until it answers. Boxes that ran before and do not run in the new
 * list have gone meanwhile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "cay-docker/broker.h"
#include "cay-docker/no_init.h"
#include "foundation/json/json_in.h"

enum { VERSION, INFO, LIST, NETWORKS, EVENTS };

enum { FIRST_MS = 2000, PAUSE_MS = 500, ASK_MS = 10000, EVENTS_MS = 10000, LINE_MAX_BYTES = 256 * 1024 };

static void ask(struct docker_broker *b);

static struct docker_broker *from_call(struct docker_call *c)
{
        return cay_container_of(c, struct docker_broker, sync.call);
}

static void on_pause(struct cay_timer *t)
{
        ask(cay_container_of(t, struct docker_broker, sync.pause));
}

static void settle(struct docker_broker *b)
{
        bool first = !b->sync.settled;

        b->sync.settled = true;
        if (first)
                docker_broker_settled(b);
}

static void fail(struct docker_broker *b, const struct cay_error *why)
{
        bool news = !b->sync.away;

        docker_call_abort(&b->sync.events);
        docker_api_look_up(&b->api);
        b->sync.away = true;
        b->sync.why = *why;
        b->sync.step = VERSION;
        if (news)
                docker_broker_told_daemon(b);
        settle(b);
        cay_timer_set(b->loop, &b->sync.pause, PAUSE_MS, on_pause);
}

static int64_t number(const struct cay_json_value *object, const char *name)
{
        int64_t value = 0;

        return cay_json_value_i64(cay_json_value_find(object, name), &value) && value > 0 ? value : 0;
}

static const char *text(const struct cay_json_value *object, const char *name)
{
        const char *value = cay_json_value_text(cay_json_value_find(object, name));

        return value ? value : "";
}

/* "1.41": its second number; 0: no such version. */
static unsigned minor_of(const char *version)
{
        unsigned value = 0;

        return strncmp(version, "1.", 2) == 0 && sscanf(version + 2, "%u", &value) == 1 ? value : 0;
}

static const char *own_machine(void)
{
#if defined(__x86_64__)
        return "amd64";
#elif defined(__aarch64__)
        return "arm64";
#else
        return "another";
#endif
}

static int read_version(struct docker_broker *b, const struct cay_json_value *root, struct cay_error *err)
{
        unsigned newest = minor_of(text(root, "ApiVersion")), oldest = minor_of(text(root, "MinAPIVersion"));

        if (newest < DOCKER_API_OLDEST)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "Docker's API is too old (%.20s, at least 1.%u is needed)",
                                text(root, "ApiVersion"), DOCKER_API_OLDEST);
        b->api.minor = newest < DOCKER_API_NEWEST ? newest : DOCKER_API_NEWEST;
        if (b->api.minor < oldest)
                b->api.minor = oldest; /* a younger daemon may have let go of ours */
        cay_str_copy(b->facts.machine, sizeof(b->facts.machine), text(root, "Arch"));
        if (strcmp(b->facts.machine, own_machine()) != 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "Docker runs on %.15s: this cay-init is for %s and would not run there",
                                b->facts.machine, own_machine());
        return 0;
}

/* "2026-11-16T04:59:05.330812Z", or with an offset in place of the Z; by Docker's own clock. */
static int64_t seconds_of(const char *time_text)
{
        struct tm t = { 0 };
        int hours = 0, minutes = 0;
        const char *zone = strchr(time_text, 'T');

        if (sscanf(time_text, "%d-%d-%dT%d:%d:%d", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min,
                   &t.tm_sec) != 6)
                return 0; /* all that Docker remembers: more than is needed */
        t.tm_year -= 1900;
        t.tm_mon--;
        zone = zone ? strpbrk(zone, "+-") : NULL;
        if (zone && sscanf(zone + 1, "%d:%d", &hours, &minutes) == 2 && *zone == '-')
                hours = -hours, minutes = -minutes;
        return (int64_t)timegm(&t) - hours * 3600 - minutes * 60;
}

static bool has_seccomp(const struct cay_json_value *options)
{
        for (size_t i = 0; i < cay_json_value_count(options); i++) {
                const char *one = cay_json_value_text(cay_json_value_at(options, i));

                if (one && cay_str_starts(one, "name=seccomp"))
                        return true;
        }
        return false;
}

static int read_info(struct docker_broker *b, const struct cay_json_value *root, struct cay_error *err)
{
        static const struct {
                const char *name;
                unsigned limit;
        } rows[] = { { "MemoryLimit", HELPER_LIMIT_MEMORY },
                     { "SwapLimit", HELPER_LIMIT_SWAP },
                     { "CpuCfsQuota", HELPER_LIMIT_CPUS },
                     { "PidsLimit", HELPER_LIMIT_PIDS } };

        b->facts.can_hold = 0;
        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (cay_json_value_is_true(cay_json_value_find(root, rows[i].name)))
                        b->facts.can_hold |= rows[i].limit;
        b->facts.has_seccomp = has_seccomp(cay_json_value_find(root, "SecurityOptions"));
        b->facts.cpus = (unsigned)number(root, "NCPU");
        b->facts.memory_bytes = (uint64_t)number(root, "MemTotal");
        b->has_facts = true;
        if (strcmp(text(root, "OSType"), "linux") != 0)
                return cay_fail(err, CAY_UNSUPPORTED, "Docker runs %.20s containers: Cay needs linux",
                                text(root, "OSType"));
        b->sync.since_s = seconds_of(text(root, "SystemTime"));
        return 0;
}

static void read_ports(struct docker_box *box, const struct cay_json_value *ports)
{
        box->port_count = 0;
        for (size_t i = 0; i < cay_json_value_count(ports) && box->port_count < DOCKER_PORTS_MAX; i++) {
                const struct cay_json_value *one = cay_json_value_at(ports, i);
                int64_t inside = number(one, "PrivatePort"), host = number(one, "PublicPort");

                if (inside > 0 && inside <= 65535 && host > 0 && host <= 65535)
                        box->ports[box->port_count++] =
                                (struct docker_port){ .inside = (uint16_t)inside, .host = (uint16_t)host };
        }
}

/* It is ours to speak for: its command and its end are no_init_run.c's business. */
static bool has_no_init(const struct docker_box *box)
{
        return box->no_init && box->no_init->state != DOCKER_NO_INIT_LOST && !box->doomed;
}

/* What was to be removed and could not be. Whoever still counts on it hears that first. */
static void drop_doomed(struct docker_broker *b, struct docker_box *box)
{
        if (box->live)
                docker_broker_gone(b, box);
        docker_task_begin_drop(b, box);
}

/*
 * Does not run, and nobody waits for it: it ended before our time, or it is half-made, by somebody before us
 * or by a task of ours that never heard Docker's answer.
 */
static bool is_left(const struct docker_broker *b, const struct docker_box *box, bool known,
                    const char *state)
{
        return !known && (!box->kept || (b->sync.listed && strcmp(state, "created") == 0));
}

static void read_container(struct docker_broker *b, const struct cay_json_value *one)
{
        const struct cay_json_value *labels = cay_json_value_find(one, "Labels");
        const char *id = text(labels, "cay.id"), *container = text(one, "Id"), *state = text(one, "State");
        struct docker_box *box;
        bool known;

        if (!cay_id_is_valid(id) || strcmp(text(labels, "cay.instance"), b->options.instance) != 0 ||
            strlen(container) >= DOCKER_CONTAINER)
                return;
        box = docker_box_find(b, id);
        known = box != NULL;
        if (!known && !b->closing &&
            !(b->sync.listed && b->sync.removed)) /* else it may be the one that was */
                box = docker_box_add(b, id);
        if (!box)
                return;
        box->seen = true;
        if (docker_task_is_busy(b, id) || box->stirred)
                return;                                     /* whoever is at it knows better, or did */
        if (!has_no_init(box) || box->container[0] == '\0') /* else a create whose answer was lost made it */
                cay_str_copy(box->container, sizeof(box->container), container);
        if (has_no_init(box))
                return;
        if (box->doomed) {
                drop_doomed(b, box);
                return;
        }
        if (strcmp(text(labels, DOCKER_INIT_LABEL), "none") == 0) {
                docker_task_begin_drop(b, box); /* nobody can speak to it any more */
                return;
        }
        read_ports(box, cay_json_value_find(one, "Ports"));
        box->kept = strcmp(text(labels, "cay.keep"), "yes") == 0;
        if (strcmp(state, "running") == 0 || strcmp(state, "paused") == 0) {
                box->live = true;
        } else if (box->live) {
                docker_broker_gone(b, box);
        } else if (is_left(b, box, known, state)) {
                docker_task_begin_drop(b, box);
        }
}

/* Its container was removed, and not by us: nothing is there for a start. */
static bool is_lost(const struct docker_broker *b, const struct docker_box *box)
{
        return box->kept && !box->doomed && !box->making && !box->ending && !box->no_init &&
               !docker_task_is_busy(b, box->id);
}

static void lose(struct docker_broker *b, struct docker_box *box)
{
        docker_broker_files_lost(b, box);
        docker_box_remove(b, box);
}

/*
 * It is not in Docker's list. One that ran is told as gone, and waits one round more for the front's own
 * drop; one that was removed behind our back has nothing to go on with, and one that nobody asked about since
 * is no box any more.
 */
static void read_absence(struct docker_broker *b, struct docker_box *box)
{
        bool was_live = box->live;

        if (box->seen || box->stirred || has_no_init(box) || docker_task_is_busy(b, box->id))
                return;
        if (was_live)
                docker_broker_gone(b, box);
        if (is_lost(b, box))
                lose(b, box);
        else if (box->kept || box->doomed || !was_live)
                docker_box_remove(b, box);
}

static void read_list(struct docker_broker *b, const struct cay_json_value *root)
{
        struct docker_box *next;

        for (struct docker_box *box = b->boxes; box; box = box->next)
                box->seen = false;
        for (size_t i = 0; i < cay_json_value_count(root); i++)
                read_container(b, cay_json_value_at(root, i));
        b->sync.listed = true;
        for (struct docker_box *box = b->boxes; box; box = next) {
                next = box->next;
                read_absence(b, box);
        }
}

/* From here on a box may become another one than the list will tell. */
static void begin_list(struct docker_broker *b)
{
        b->sync.removed = false;
        for (struct docker_box *box = b->boxes; box; box = box->next)
                box->stirred = false;
}

/* A network whose box is not there any more was left by somebody who was killed in between. */
static void read_network(struct docker_broker *b, const struct cay_json_value *one)
{
        const struct cay_json_value *labels = cay_json_value_find(one, "Labels");
        const char *id = text(labels, "cay.id"), *network = text(one, "Id");
        struct docker_box *box;

        if (!cay_id_is_valid(id) || strcmp(text(labels, "cay.instance"), b->options.instance) != 0 ||
            strspn(network, "0123456789abcdef") != strlen(network) || docker_task_is_busy(b, id))
                return;
        box = docker_box_find(b, id);
        if (!box && !b->closing)
                box = docker_box_add(b, id);
        if (!box || !cay_str_copy(box->network, sizeof(box->network), network))
                return;
        if (has_no_init(box))
                return; /* its next command has use for it, and its end takes it along */
        if (box->container[0] == '\0')
                docker_task_begin_drop(b, box);
}

static void read_networks(struct docker_broker *b, const struct cay_json_value *root)
{
        for (size_t i = 0; i < cay_json_value_count(root); i++)
                read_network(b, cay_json_value_at(root, i));
}

/* Events: one JSON object per line */

static void on_event_line(struct docker_broker *b, const char *bytes, size_t len)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *attributes;
        struct cay_error err = { 0 };
        struct docker_box *box;
        const char *action;

        if (cay_json_in_parse(bytes, len, NULL, &doc, &err) < 0)
                return;
        action = text(cay_json_in_root(doc), "Action");
        attributes = cay_json_value_find(cay_json_value_find(cay_json_in_root(doc), "Actor"), "Attributes");
        box = docker_box_find(b, text(attributes, "cay.id"));
        if (!box || strcmp(text(attributes, "cay.instance"), b->options.instance) != 0 ||
            strcmp(text(cay_json_value_find(cay_json_in_root(doc), "Actor"), "ID"), box->container) != 0)
                return;
        if (strcmp(action, "oom") == 0)
                box->oom_kills++;
        if ((strcmp(action, "die") == 0 || strcmp(action, "destroy") == 0) && box->live && !box->making &&
            !box->ending && !box->no_init)
                docker_broker_gone(b, box);
        if (strcmp(action, "destroy") == 0 && is_lost(b, box))
                lose(b, box);
}

static void on_events(struct docker_call *c, const char *bytes, size_t len)
{
        struct docker_broker *b = cay_container_of(c, struct docker_broker, sync.events);
        struct cay_buf *line = &b->sync.line;
        const char *end;

        if (cay_buf_put(line, bytes, len) < 0)
                cay_buf_clear(line); /* no event is so long */
        while ((end = memchr(cay_buf_data(line), '\n', line->len))) {
                size_t n = (size_t)(end - cay_buf_data(line)) + 1;

                on_event_line(b, cay_buf_data(line), n);
                cay_buf_drop(line, n);
        }
}

static void on_events_end(struct docker_call *c)
{
        struct docker_broker *b = cay_container_of(c, struct docker_broker, sync.events);
        struct cay_error err = { 0 };

        cay_buf_clear(&b->sync.line);
        if (b->sync.step != EVENTS)
                return; /* a round is under way already */
        if (c->status == 200 ||
            c->err.code == CAY_TIMEOUT) { /* it ended, or nothing happened: once more from the start */
                b->sync.step = VERSION;
                ask(b);
                return;
        }
        docker_call_fail(c, "follow Docker's events", &err);
        fail(b, &err);
}

static void put_filter(const struct docker_broker *b, char *ret, size_t size)
{
        static const char hex[] = "0123456789ABCDEF";
        size_t at = 0;

        for (const char *c = b->options.instance; *c && at + 4 < size; c++) {
                bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                             (*c >= '0' && *c <= '9') || *c == '-' || *c == '.' || *c == '_' || *c == '/';

                if (plain) {
                        ret[at++] = *c;
                        continue;
                }
                ret[at++] = '%';
                ret[at++] = hex[(unsigned char)*c >> 4];
                ret[at++] = hex[(unsigned char)*c & 15];
        }
        ret[at] = '\0';
}

static void follow(struct docker_broker *b)
{
        char path[480], instance[200];
        struct docker_call_request req = {
                .method = CAY_HTTP_GET, .path = path, .repeatable = false, .wait_ms = EVENTS_MS
        };

        put_filter(b, instance, sizeof(instance));
        snprintf(path, sizeof(path),
                 "/events?since=%lld&filters=%%7B%%22type%%22:%%5B%%22container%%22%%5D,%%22label%%22:%%5B%%"
                 "22cay."
                 "instance=%s%%22%%5D%%7D",
                 (long long)b->sync.since_s, instance);
        b->sync.events.on_done = on_events_end;
        b->sync.events.on_piece = on_events;
        docker_call_begin(&b->sync.events, &b->api, &req);
}

/* Rounds */

static void go_on(struct docker_broker *b)
{
        bool was_away = b->sync.away;

        b->sync.step++;
        if (b->sync.step != EVENTS) {
                ask(b);
                return;
        }
        b->sync.away = false;
        follow(b);
        if (was_away || !b->sync.settled)
                docker_broker_told_daemon(b);
        settle(b);
}

static void on_answer(struct docker_call *c)
{
        const struct cay_json_in_limits limits = { .bytes = DOCKER_BODY_MAX, .values = 2000000 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct docker_broker *b = from_call(c);
        const struct cay_json_value *root;
        struct cay_error err = { 0 };
        int r = 0;

        if (c->status != 200) {
                r = docker_call_fail(c, "look at Docker", &err);
        } else {
                r = cay_json_in_parse(cay_buf_data(&c->body), c->body.len, &limits, &doc, &err);
        }
        root = r == 0 ? cay_json_in_root(doc) : NULL;
        if (r == 0 && b->sync.step == VERSION)
                r = read_version(b, root, &err);
        else if (r == 0 && b->sync.step == INFO)
                r = read_info(b, root, &err);
        else if (r == 0 && b->sync.step == LIST)
                read_list(b, root);
        else if (r == 0)
                read_networks(b, root);
        docker_call_done(c);
        if (r < 0)
                fail(b, &err);
        else
                go_on(b);
}

static void ask(struct docker_broker *b)
{
        char path[400], instance[200];
        struct docker_call_request req = {
                .method = CAY_HTTP_GET, .path = path, .repeatable = true, .tries = 3, .wait_ms = ASK_MS
        };

        if (b->sync.step == LIST)
                begin_list(b);
        put_filter(b, instance, sizeof(instance));
        if (b->sync.step == VERSION) {
                req.unversioned = true;
                snprintf(path, sizeof(path), "/version");
        } else if (b->sync.step == INFO) {
                snprintf(path, sizeof(path), "/info");
        } else {
                snprintf(path, sizeof(path),
                         "/%sfilters=%%7B%%22label%%22:%%5B%%22cay.instance=%s%%22%%5D%%7D",
                         b->sync.step == LIST ? "containers/json?all=1&" : "networks?", instance);
        }
        b->sync.call.on_done = on_answer;
        docker_call_begin(&b->sync.call, &b->api, &req);
}

/*
 * It listens and says nothing: a daemon's start does not wait for that. The question stands, and its answer
 * is news.
 */
static void on_first(struct cay_timer *t)
{
        struct docker_broker *b = cay_container_of(t, struct docker_broker, sync.first);

        if (b->sync.settled)
                return;
        b->sync.away = true;
        cay_fail(&b->sync.why, CAY_UNAVAILABLE, "Docker (%s) has not answered yet", b->options.host_text);
        settle(b);
}

void docker_sync_start(struct docker_broker *b)
{
        cay_buf_init(&b->sync.line, LINE_MAX_BYTES);
        if (b->options.keep)
                cay_timer_set(b->loop, &b->sync.first, FIRST_MS, on_first);
        b->sync.step = VERSION;
        ask(b);
}

void docker_sync_stop(struct docker_broker *b)
{
        docker_call_abort(&b->sync.call);
        docker_call_abort(&b->sync.events);
        cay_timer_clear(&b->sync.pause);
        cay_timer_clear(&b->sync.first);
        cay_buf_done(&b->sync.line);
}
