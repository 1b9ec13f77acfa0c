/* SPDX-License-Identifier: Apache-2.0 */
/* cay-front: sets up all parts, runs them and takes them down. */
#include "cay-front/front.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "domain/desktop/seats.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"
#include "dialects/browser/cdp.h"
#include "dialects/browser/live.h"
#include "dialects/containers/containers.h"
#include "domain/browser/browser.h"
#include "domain/browser/screencast.h"
#include "dialects/sandbox_service/service_api.h"
#include "dialects/page/ui.h"
#include "dialects/page/vnc.h"
#include "cay-front/front_priv.h"
#include "cay-front/confine.h"
#include "foundation/json/json_in.h"
#include "cay/keeper/hand_over.h"
#include "daemon/store/store_sqlite.h"
#include "foundation/sys/fd.h"

#define TCP_MAX 8u
#define LAST_ROUNDS 100 /* rounds of the loop in which pending work can finish */
#define SETTLE_MS 5     /* between checks whether new facts are stored */

static const char all_fields[] = "X-Content-Type-Options: nosniff\r\n"
                                 "Referrer-Policy: no-referrer\r\n";

/* Requests */

/*
 * Decides by listener, not by host name: a client that came by a port's name may have shown a login link,
 * which is valid for that port only.
 */
static unsigned check_published(const struct front *f, const struct cay_http_request *req,
                                struct cay_visitor *v, struct cay_error *err)
{
        struct cay_port_host at;
        int found = cay_front_ports_find(f->ports, req->peer.listener, &at);

        if (found == 0)
                return 0;
        if (found < 0) {
                cay_fail(err, CAY_NOT_FOUND, "the sandbox of this port is gone");
                return 404;
        }
        if (v->port.port) {
                cay_fail(err, CAY_DENIED, "host names of ports work only at the daemon's own address");
                return 421;
        }
        v->port = at;
        v->is_published = true;
        if (at.port == CAY_SPEC_DESKTOP_PORT) {
                char path[CAY_VNC_PATH_MAX];

                cay_vnc_path(req, at.sandbox, path);
                cay_gate_check_published(f->gate, req, path, v);
        }
        return 0;
}

static void on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        struct front *f = cay_http_server_user(s);
        struct cay_error err = { 0 };
        struct cay_visitor visitor;
        struct cay_mcp_place place;
        unsigned status;
        bool is_mcp, is_e2b, is_bb;

        if (cay_front_crashers_refuses(&f->crashers, req)) {
                char id[CAY_GATE_ID + 1];

                cay_gate_make_id(id);
                cay_http_response_add(req, "X-Request-Id", id);
                cay_rest_refuse(req, 503,
                                "requests like this one crashed the daemon's front twice and are refused for "
                                "ten minutes; please report it",
                                id);
                return;
        }
        status = cay_gate_check(f->gate, req, &visitor, &err);
        if (status == 0)
                status = check_published(f, req, &visitor, &err);
        if (!cay_http_request_own(req, visitor.is_known ? visitor.caller.owner : "") && status == 0) {
                status = 429;
                cay_fail(&err, CAY_LIMIT,
                         "too many of your connections are busy: close one, or try again in a moment");
        }
        is_mcp = cay_mcp_find(req, &visitor, &place);
        is_bb = !is_mcp && cay_bb_find(f->bb, req, &visitor);
        is_e2b = !is_mcp && !is_bb && cay_e2b_find(f->e2b, req, &visitor);
        if (status != 0 && is_mcp)
                cay_mcp_refuse_gate(req, &visitor, status, err.msg);
        else if (status != 0 && is_e2b)
                cay_e2b_refuse_gate(req, &visitor, status, err.msg);
        else if (status != 0 && is_bb)
                cay_bb_refuse_gate(req, status, err.msg);
        else if (status != 0)
                cay_rest_refuse(req, status, err.msg, visitor.request_id);
        else if (is_mcp)
                cay_mcp_handle(f->mcp, req, &visitor, &place);
        else if (is_e2b)
                cay_e2b_handle(f->e2b, req, &visitor);
        else if (is_bb)
                cay_bb_handle(f->bb, req, &visitor);
        else
                cay_rest_handle(f->rest, req, &visitor);
}

static const char *make_error(struct cay_http_server *s, const struct cay_http_fault *fault,
                              struct cay_buf *fields, struct cay_buf *body)
{
        (void)s;
        return cay_rest_fault(fault, fields, body);
}

static void leave(struct front *f);

static void on_settle_time(struct cay_timer *t)
{
        leave(cay_container_of(t, struct front, settle_timer));
}

/* What ended with a helper is stored first. stop_timer ends this wait, too. */
static void leave(struct front *f)
{
        if (cay_service_is_settled(f->service))
                cay_loop_stop(f->loop);
        else
                cay_timer_set(f->loop, &f->settle_timer, SETTLE_MS, on_settle_time);
}

/* Read what arrived together with the order to exit. */
static void on_idle(struct cay_http_server *s)
{
        struct front *f = cay_http_server_user(s);

        cay_timer_set(f->loop, &f->settle_timer, SETTLE_MS, on_settle_time);
}

static void on_turn(struct cay_http_server *s, const struct cay_http_request *req)
{
        cay_front_crashers_begin(&((struct front *)cay_http_server_user(s))->crashers, req);
}

static const struct cay_http_server_ops http_ops = {
        .on_request = on_request,
        .on_turn = on_turn,
        .make_error = make_error,
        .on_idle = on_idle,
};

static uint32_t ms32(uint64_t ms)
{
        return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static int open_http(struct front *f, unsigned tcp_count, struct cay_error *err)
{
        const struct cay_config *c = &f->config;
        struct cay_http_config http;

        cay_http_config_init(&http);
        http.ops = &http_ops;
        http.head.head_bytes =
                c->max_header < CAY_HTTP_HEAD_MAX ? (uint32_t)c->max_header : CAY_HTTP_HEAD_MAX;
        if (http.head.line_bytes > http.head.head_bytes)
                http.head.line_bytes = http.head.head_bytes;
        http.body_max = c->max_body;
        http.head_ms = ms32(c->header_timeout);
        http.body_ms = http.stall_ms = ms32(c->body_timeout);
        http.idle_ms = ms32(c->idle_timeout);
        http.connections = (unsigned)c->max_connections;
        http.per_peer = (unsigned)c->max_connections_client;
        http.all_fields = all_fields;
        http.budgets = &f->budgets;
        f->http = cay_http_server_new(f->loop, &http, f, err);
        f->world.http_answers = f->http ? cay_http_server_answers(f->http) : NULL;
        if (!f->http || cay_http_server_listen_take(f->http, CAY_HAND_UNIX, NULL, err) < 0)
                return -1;
        for (unsigned i = 0; i < tcp_count; i++)
                if (cay_http_server_listen_take(f->http, CAY_HAND_TCP + (int)i, f->tls, err) < 0)
                        return -1;
        return 0;
}

/* Service */

static int read_json(void *ctx, const char *text, const struct cay_field *fields, void *args, void **ret_doc,
                     struct cay_error *err)
{
        struct cay_json_in *doc;

        (void)ctx;
        if (cay_json_in_parse(text, strlen(text), NULL, &doc, err) < 0)
                return -1;
        if (cay_json_in_read(doc, cay_json_in_root(doc), fields, args, NULL, err) < 0) {
                cay_json_in_free(doc);
                return -1;
        }
        *ret_doc = doc;
        return 0;
}

static void free_json(void *ctx, void *doc)
{
        (void)ctx;
        cay_json_in_free(doc);
}

/* From here on requests are answered, whether or not sandboxes were adopted; the keeper is told once. */
static void on_ready(struct cay_service *s, void *ctx)
{
        struct front *f = ctx;
        const struct cay_service_report *r = cay_service_report(s);
        struct cay_hand_ready ready = {
                .magic = CAY_HAND_MAGIC,
                .size = sizeof(ready),
                .adopted = r->adopted,
                .lost = r->lost,
                .at_rest = r->at_rest,
                .removed = r->removed,
        };
        struct cay_error err = { 0 };
        uint64_t expires_s;

        cay_front_ports_serve(f->ports, f->http); /* their sandboxes are known now */
        cay_front_agents_tell(f->agents);
        cay_front_dial_sync(f->dial);
        cay_log_info("ready",
                     "adopted=%u lost=%u at_rest=%u away=%u removed=%u execs_adopted=%u execs_lost=%u "
                     "unreadable=%u",
                     r->adopted, r->lost, r->at_rest, r->away, r->removed, r->execs_adopted, r->execs_lost,
                     r->unreadable);
        if (f->world.make_token(&f->world, "default", CAY_SCOPE_READ | CAY_SCOPE_EXEC,
                                f->config.token_lifetime, ready.token, &expires_s, &err) < 0)
                cay_log_warn("no token to show, ignoring", "error=%s", err.msg);
        if (cay_login_make(&f->logins, "default", CAY_SCOPE_READ | CAY_SCOPE_EXEC | CAY_SCOPE_ADMIN,
                           cay_clock_ms(), ready.login, &err) < 0)
                cay_log_warn("no login to show, ignoring", "error=%s", err.msg);
        if (send(CAY_HAND_KEEPER, &ready, sizeof(ready), MSG_NOSIGNAL) < 0)
                cay_log_warn("the keeper does not listen, ignoring");
        explicit_bzero(&ready, sizeof(ready));
}

static int open_template(void *ctx, const char *name, enum cay_template_kind *ret_kind, int *ret_fd,
                         struct cay_error *err)
{
        struct front *f = ctx;

        return cay_front_templates_open(&f->templates, name, ret_kind, ret_fd, err);
}

static const char *image_of(void *ctx, const char *name)
{
        const struct cay_template *t = cay_template_find(((struct front *)ctx)->templates.use.set, name);

        if (t && t->root == CAY_TEMPLATE_ROOT_DOCKERFILE)
                return CAY_IMAGE_BUILT;
        return t && t->root == CAY_TEMPLATE_ROOT_IMAGE ? t->root_text : NULL;
}

static bool is_own_port(void *ctx, uint16_t inside)
{
        (void)ctx;
        return cay_front_ports_is_own(inside);
}

static void publish(void *ctx, const char *id, struct cay_spec_port *ports, unsigned count,
                    struct cay_job *job)
{
        cay_front_ports_publish(((struct front *)ctx)->ports, id, ports, count, job);
}

static void unpublish(void *ctx, const char *id)
{
        cay_front_ports_unpublish(((struct front *)ctx)->ports, id);
}

static int open_templates(struct front *f, struct cay_error *err)
{
        f->templates.path = f->config.registry;
        f->templates.engines = &f->engines;
        return cay_front_templates_start(&f->templates, CAY_HAND_KEEPER, err);
}

static void remove_spool(void *ctx, const char *name)
{
        cay_remover_take(((struct front *)ctx)->remover, name);
}

static void recycle_spool(void *ctx, const char *name)
{
        cay_remover_recycle(((struct front *)ctx)->remover, name);
}

static bool reuse_spool(void *ctx, const char *name)
{
        return cay_remover_reuse(((struct front *)ctx)->remover, name);
}

static void remove_recording(void *ctx, const char *name)
{
        cay_remover_take(((struct front *)ctx)->screencasts_remover, name);
}

static uint64_t more_disk(void *ctx, const char *owner)
{
        return cay_screencasts_disk(((struct front *)ctx)->browsers, owner);
}

static int open_browsers(struct front *f, struct cay_error *err)
{
        const struct cay_browsers_env env = { .loop = f->loop,
                                              .service = f->service,
                                              .budgets = &f->budgets,
                                              .has_recordings = true,
                                              .keeps_unowned = f->keeps_unowned,
                                              .screencasts_dir = f->screencasts_fd,
                                              .remove_recording = remove_recording,
                                              .ctx = f };

        f->screencasts_remover = cay_remover_new(f->screencasts_fd);
        if (!f->screencasts_remover)
                return cay_fail(err, CAY_INTERNAL, "no thread that removes recordings");
        f->browsers = cay_browsers_new(&env);
        return f->browsers ? 0 : cay_fail(err, CAY_INTERNAL, "no memory for browsers");
}

static int open_service(struct front *f, struct cay_error *err)
{
        const struct cay_config *c = &f->config;
        struct cay_service_env env = {
                .loop = f->loop,
                .store = f->store,
                .clock = &cay_store_system_clock,
                .spool_dir = f->spool_fd,
                .remove_spool = remove_spool,
                .recycle_spool = recycle_spool,
                .reuse_spool = reuse_spool,
                .max_alive = (unsigned)c->max_sandboxes,
                .max_alive_owner = (unsigned)c->max_sandboxes_owner,
                .max_disk_owner = c->max_disk_owner,
                .max_volumes_owner = (unsigned)c->max_volumes,
                .volume_bytes = c->volume_size,
                .disk_reserve = c->disk_reserve,
                .pool_bytes = c->pool_memory,
                .terminal_idle_ms = c->terminal_idle,
                .keeps_unowned = f->keeps_unowned,
                .ping_ms = c->health_interval,
                .ping_misses = (unsigned)c->health_misses,
                .away_ms = c->agent_away,
                .open_template = open_template,
                .image_of = image_of,
                .is_own_port = is_own_port,
                .publish = publish,
                .unpublish = unpublish,
                .read_json = read_json,
                .secrets_text = cay_front_secrets_text,
                .secrets_ca = cay_front_secrets_ca,
                .free_json = free_json,
                .recordings_seed = f->vault ? f->recordings_seed : NULL,
                .more_disk = more_disk,
                .ctx = f,
        };

        f->remover = cay_remover_new(f->spool_fd);
        if (!f->remover)
                return cay_fail(err, CAY_INTERNAL, "no thread that removes output");
        cay_front_engines_fill(&f->engines, &env);
        return cay_service_open(&env, on_ready, f, &f->service, err);
}

static int open_store(struct front *f, struct cay_error *err)
{
        char folder[4096] = "/";
        struct cay_store_sqlite_report report = { 0 };
        struct cay_store_sqlite_env env = {
                .loop = f->loop, .clock = &cay_store_system_clock, .folder = folder, .newest_fd = f->newest_fd
        };

        if (!f->state_is_root &&
            snprintf(folder, sizeof(folder), "%s/state", f->config.data) >= (int)sizeof(folder))
                return cay_fail(err, CAY_INVALID, "the data folder's path is too long");
        if (cay_store_sqlite_open(&env, &f->store, &report, err) < 0)
                return -1;
        cay_closep(&f->newest_fd);
        if (report.is_older && !report.is_new)
                cay_log_error(
                        "the database is older than what was stored: an older copy was put back, or its log "
                        "was damaged or removed; files without a record are kept",
                        "missing_events=%lld", (long long)report.missing);
        f->keeps_unowned = report.has_damaged_file;
        if (report.was_damaged)
                cay_log_error("the database was damaged: what could be read was kept",
                              "moved_to=%s damage=%s", report.moved_to, report.damage);
        return 0;
}

/* Ends */

static void on_stop_time(struct cay_timer *t)
{
        cay_loop_stop(cay_container_of(t, struct front, stop_timer)->loop);
}

static void stop(struct front *f)
{
        if (f->stopping)
                return;
        f->stopping = true;
        cay_log_info("stopping");
        cay_timer_set(f->loop, &f->stop_timer, f->config.stop_timeout, on_stop_time);
        cay_front_dial_stop(f->dial);
        cay_front_agents_stop(f->agents);
        if (f->rest)
                cay_rest_stop(f->rest);
        if (f->mcp)
                cay_mcp_stop(f->mcp);
        if (f->e2b)
                cay_e2b_stop(f->e2b);
        if (f->bb)
                cay_bb_stop(f->bb);
        if (f->ports)
                cay_front_ports_stop(f->ports);
        if (f->http)
                cay_http_server_stop(f->http);
        else
                cay_loop_stop(f->loop);
}

static void on_signal(struct cay_signal *s, int signo, int pid)
{
        (void)signo;
        (void)pid;
        stop(cay_container_of(s, struct front, signals));
}

/*
 * One engine's failure affects that engine only. A front that cannot get it back exits, and the next one can.
 */
static void on_engine_back(struct cay_front_engines *e, const char *name, const struct cay_error *err)
{
        struct front *f = cay_container_of(e, struct front, engines);

        if (f->stopping)
                return;
        if (err->code == CAY_OK) {
                cay_service_engine_back(f->service, name);
                return;
        }
        cay_log_error("an engine's new helper cannot be used", "engine=%s error=%s", name, err->msg);
        if (err->code == CAY_TIMEOUT)
                stop(f);
}

/* The keeper sends registries and links to helpers here; end of file means that it has exited. */
static void on_keeper(struct cay_watch *w, uint32_t events)
{
        struct front *f = cay_container_of(w, struct front, keeper);
        int r = cay_front_ports_hear(f->ports);

        (void)events;
        if (r == 0)
                r = cay_front_engines_hear(&f->engines, w->fd);
        if (r > 0 || (r == 0 && cay_front_templates_hear(&f->templates, w->fd) == 0))
                return;
        cay_watch_remove(w);
        stop(f);
}

static int open_loop(struct front *f, struct cay_error *err)
{
        static const int signals[] = { SIGTERM, SIGINT };
        int r;

        signal(SIGPIPE, SIG_IGN);
        f->loop = cay_loop_new();
        if (!f->loop)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the event loop");
        r = cay_signal_open(f->loop, &f->signals, signals, CAY_COUNT(signals), on_signal);
        if (r == 0)
                r = cay_watch_add(f->loop, &f->keeper, CAY_HAND_KEEPER, EPOLLIN | EPOLLRDHUP, on_keeper);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch signals and the keeper") : 0;
}

static bool find_owner(void *ctx, const char *sandbox, char ret[CAY_OWNER_MAX + 1])
{
        const struct cay_viewer everybody = { .owner = "", .sees_all = true };
        struct front *f = ctx;
        struct cay_sandbox_view view;
        struct cay_error ignored = { 0 };

        return cay_service_get(f->service, &everybody, sandbox, &view, &ignored) == 0 &&
               strcmp(view.id, sandbox) == 0 && cay_str_copy(ret, CAY_OWNER_MAX + 1, view.owner);
}

static int open_gate(struct front *f, struct cay_error *err)
{
        const struct cay_gate_env env = {
                .config = &f->config,
                .secret = &f->secret,
                .keys = f->keys,
                .logins = &f->logins,
                .clock = &cay_store_system_clock,
                .loop = f->loop,
                .own_uid = f->own_uid,
                .find_owner = find_owner,
                .ctx = f,
        };

        return cay_gate_new(&env, &f->gate, err);
}

/* The order matters: later parts may use earlier ones. */
static int open_all(struct front *f, unsigned tcp_count, struct cay_error *err)
{
        struct cay_rest_dialect dialects[] = { { cay_containers_rows, cay_containers_count },
                                               { cay_service_rows, cay_service_count },
                                               { cay_cdp_rows, cay_cdp_count },
                                               { cay_live_rows, cay_live_count },
                                               { cay_ui_rows, cay_ui_count, CAY_UI_FRAMED },
                                               { cay_vnc_rows, cay_vnc_count },
                                               { NULL, 1 } };

        if (open_loop(f, err) < 0 || cay_front_ports_new(f->loop, CAY_HAND_KEEPER, &f->ports, err) < 0)
                return cay_wrap(err, "start");
        f->engines.on_back = on_engine_back;
        if (cay_front_engines_open(&f->engines, f->loop, err) < 0)
                return -1;
        if (open_store(f, err) < 0)
                return cay_wrap(err, "open the state");
        if (cay_front_load_keys(f, err) < 0 || cay_front_load_vault(f, err) < 0 ||
            cay_front_load_machines(f, err) < 0 || cay_front_open_agents(f, err) < 0 || open_gate(f, err) < 0)
                return -1;
        if (open_templates(f, err) < 0)
                return -1;
        if (open_service(f, err) < 0)
                return cay_wrap(err, "read the state");
        if (open_browsers(f, err) < 0)
                return -1;
        cay_budgets_init(&f->budgets, (size_t)f->config.client_memory);
        f->seats = cay_seats_new();
        if (!f->seats)
                return cay_fail(err, CAY_INTERNAL, "no memory for seats at desktops");
        cay_front_fill_world(f);
        dialects[CAY_COUNT(dialects) - 1].rows = cay_front_agents_row(f->agents);
        if (cay_rest_new(&f->world, dialects, CAY_COUNT(dialects), &f->rest, err) < 0 ||
            cay_mcp_new(&f->world, &f->mcp, err) < 0 || cay_e2b_new(&f->world, &f->e2b, err) < 0 ||
            cay_bb_new(&f->world, &f->bb, err) < 0)
                return -1;
        cay_front_watch_keys(f);
        return open_http(f, tcp_count, err);
}

/*
 * Clients first, so that nothing new comes in; boxes are left alone. Pending operations are answered and end.
 */
static void close_all(struct front *f)
{
        cay_timer_clear(&f->stop_timer);
        cay_timer_clear(&f->settle_timer);
        cay_timer_clear(&f->key_timer);
        cay_http_server_free(f->http);
        cay_front_agents_close(f->agents);
        cay_front_dial_free(f->dial);
        if (f->ports)
                cay_front_ports_stop(f->ports);
        cay_admission_done(&f->templates.use.admission);
        cay_browsers_free(f->browsers);
        cay_service_free(f->service);
        cay_remover_free(f->remover);
        cay_remover_free(f->screencasts_remover);
        cay_front_ports_free(cay_take(f->ports));
        for (int i = 0; f->loop && i < LAST_ROUNDS && cay_job_queue_drain(cay_loop_jobs(f->loop)); i++)
                ;
        if (f->store)
                f->store->ops->close(f->store);
        cay_front_engines_close(&f->engines);
        for (int i = 0; f->loop && i < LAST_ROUNDS && cay_job_queue_drain(cay_loop_jobs(f->loop)); i++)
                ;
        cay_watch_remove(&f->keeper);
        cay_signal_close(&f->signals);
        cay_loop_free(f->loop); /* runs what was deferred */
        cay_rest_free(f->rest);
        cay_mcp_free(f->mcp);
        cay_e2b_free(f->e2b);
        cay_bb_free(f->bb);
        cay_seats_free(f->seats);
        cay_front_templates_done(&f->templates);
        cay_gate_free(f->gate);
        cay_api_keys_free(f->keys);
        cay_front_agents_free(f->agents);
        cay_machines_free(f->machines);
        explicit_bzero(&f->agent_pair, sizeof(f->agent_pair));
        cay_vault_free(f->vault);
        cay_secret_done(&f->vault_key);
        cay_tls_context_free(f->tls);
        cay_secret_done(&f->secret);
        cay_config_done(&f->config);
}

static void set_up_log(const struct cay_config *c)
{
        const struct cay_log_config log = {
                .program = "cay-front",
                .least = (enum cay_log_level)c->log_level,
                .json = c->log_json,
                .fd = STDERR_FILENO,
        };

        cay_log_setup(&log);
}

static int serve(struct front *f, unsigned tcp_count, char *const *words, struct cay_error *err)
{
        if (cay_front_read_config(f, err) < 0)
                return -1;
        set_up_log(&f->config);
        cay_front_crashers_open(&f->crashers, words);
        if (cay_front_engines_read(&f->engines, f->config.engine, words, err) < 0)
                return -1;
        if (cay_front_prepare(f, err) < 0 || open_all(f, tcp_count, err) < 0 || cay_front_filter(err) < 0)
                return -1;
        if (cay_loop_run(f->loop) < 0)
                return cay_fail(err, CAY_INTERNAL, "the event loop failed");
        return 0;
}

int cay_front_main(int argc, char **argv)
{
        struct front *f = calloc(1, sizeof(*f));
        struct cay_error err = { 0 };
        uint64_t tcp_count = 0;
        int r;

        if (!f || argc < 3 || cay_parse_u64(argv[2], &tcp_count) < 0 || tcp_count > TCP_MAX) {
                fprintf(stderr, "cay-front: is started by `cay serve`\n");
                free(f);
                return 2;
        }
        f->state_fd = f->spool_fd = f->screencasts_fd = -1;
        r = serve(f, (unsigned)tcp_count, argv + 3, &err);
        if (r < 0)
                cay_log_error("the front cannot go on", "error=%s", err.msg);
        close_all(f);
        free(f);
        return r < 0 ? 1 : 0;
}
