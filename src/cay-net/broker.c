/* SPDX-License-Identifier: Apache-2.0 */
/* What cay-net hears and says. */
#include "cay-net/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cay-net/box.h"
#include "cay-net/confine.h"
#include "cay-net/conn.h"
#include "cay-net/dialler.h"
#include "cay-net/edge.h"
#include "domain/network/secret_text.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/sys/files_limit.h"
#include "foundation/sys/route.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper_server/helper_server.h"

#define FILES_MOST 262144u
#define FILES_OTHER 256u /* that are neither a sandbox's nor a connection's */
#define FILES_BOX 9u     /* those of private networks have more: NET_DIALS_MAX */
#define PUSH_AGAIN_MS 50u
#define PUSH_SOON_MS 10u /* what went well is told together with what follows */

struct broker {
        bool is_kept; /* there is a keeper */
        struct net_world world;
        struct helper_server server;
        struct net_request request; /* the one that is heard now */
        struct net_box *boxes;      /* owned */
        unsigned box_count;
        struct net_box *dropped; /* the one that is being freed: what it logs then is told at once */
        struct cay_timer push_again;
        bool is_full; /* the front's socket was, and it is for that that push_again is armed */
        struct net_dialler dialler;
        int edge_link; /* to cay-edge, until it is opened */
};

/* Saying */

static void put_error(struct net_answer *a, const struct cay_error *err)
{
        a->code = err->code;
        a->sys = err->sys;
        cay_str_copy(a->text, sizeof(a->text), err->msg);
}

/* Entries that this front has not been sent. -EAGAIN: it has no room for more now. */
static int push_box(struct broker *b, struct net_box *box)
{
        struct net_answer a = { .type = NET_log };
        int r = 0;

        cay_str_copy(a.id, sizeof(a.id), box->id);
        while (r == 0 && net_log_read(&box->log, box->log_told, &a.log)) {
                r = helper_server_offer(&b->server, &a);
                if (r == 0)
                        box->log_told = a.log.number + 1;
        }
        return r;
}

static void on_push_again(struct cay_timer *t)
{
        struct broker *b = cay_container_of(t, struct broker, push_again);
        int r = 0;

        for (struct net_box *box = b->boxes; box && r == 0; box = box->next)
                r = push_box(b, box);
        b->is_full = r == -EAGAIN;
        if (b->is_full)
                cay_timer_set(b->world.loop, t, PUSH_AGAIN_MS, on_push_again);
}

/*
 * Waking the front twice for each connection costs more than relaying a small one. What was refused or failed
 * is told at once (with all before it): the result of a command that ends because of it says so.
 */
static void on_log(struct net_world *world, struct net_box *box, unsigned verdict)
{
        struct broker *b = cay_container_of(world, struct broker, world);
        bool can_wait = box != b->dropped && (verdict == NET_LOG_ALLOWED || verdict == NET_LOG_ENDED);

        if (b->server.state != HELPER_READY || b->is_full)
                return;
        if (can_wait && !b->push_again.loop) {
                cay_timer_set(world->loop, &b->push_again, PUSH_SOON_MS, on_push_again);
        } else if (!can_wait && push_box(b, box) == -EAGAIN) {
                b->is_full = true;
                cay_timer_set(world->loop, &b->push_again, PUSH_AGAIN_MS, on_push_again);
        }
}

/*
 * Requests. Safe because ids only select sandboxes of this daemon, and sockets, text and numbers are checked
 * here.
 */

static struct net_box **find(struct broker *b, const char *id)
{
        struct net_box **at = &b->boxes;

        while (*at && strcmp((*at)->id, id) != 0)
                at = &(*at)->next;
        return at;
}

/*
 * From a front: all of it has to be in the socket, and then its end. Nothing here waits, whatever the front
 * does.
 */
/* text: NET_POLICY_MAX + 1 bytes. */
static int receive_text(int fd, char *text, size_t *ret_len, struct cay_error *err)
{
        size_t len = 0;
        ssize_t n = 1;

        while (n > 0 && len <= NET_POLICY_MAX) {
                n = recv(fd, text + len, NET_POLICY_MAX + 1 - len, MSG_DONTWAIT);
                if (n < 0 && errno == EINTR)
                        n = 1;
                else if (n > 0)
                        len += (size_t)n;
        }
        if (n < 0)
                return cay_fail(err, CAY_INVALID, "network policy: must be whole when it is sent");
        if (len > NET_POLICY_MAX)
                return cay_fail(err, CAY_LIMIT, "network policy: must have at most %u bytes", NET_POLICY_MAX);
        *ret_len = len;
        return 0;
}

static int receive_policy(int fd, struct cay_policy_pair *ret, struct cay_error *err)
{
        cay_auto_free char *text = malloc(NET_POLICY_MAX + 1);
        size_t len;

        if (!text)
                return cay_fail(err, CAY_INTERNAL, "network policy: no memory");
        if (receive_text(fd, text, &len, err) < 0)
                return -1;
        if (len < 1)
                return cay_fail(err, CAY_LIMIT, "network policy: must have 1 to %u bytes", NET_POLICY_MAX);
        return cay_policy_text_read(text, len, ret, err);
}

/* The text of a file cannot change behind our back: that the seals are there is checked first. */
static int read_policy(int fd, struct cay_policy_pair *ret, struct cay_error *err)
{
        cay_auto_free char *text = NULL;
        struct stat st;

        if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
                return receive_policy(fd, ret, err);
        if ((fcntl(fd, F_GET_SEALS) & NET_POLICY_SEALS) != NET_POLICY_SEALS || fstat(fd, &st) < 0 ||
            !S_ISREG(st.st_mode))
                return cay_fail(err, CAY_INVALID, "network policy: must be a sealed memory file");
        if (st.st_size < 1 || st.st_size > NET_POLICY_MAX)
                return cay_fail(err, CAY_LIMIT, "network policy: must have 1 to %u bytes", NET_POLICY_MAX);
        text = malloc((size_t)st.st_size);
        if (!text || pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
                return cay_fail(err, CAY_INTERNAL, "network policy: cannot be read");
        return cay_policy_text_read(text, (size_t)st.st_size, ret, err);
}

/* The policy is the last of the descriptors. */
static int add_box_take(struct broker *b, const struct net_box_request *req, const int *fds, unsigned count,
                        struct cay_error *err)
{
        struct cay_policy_pair policy = { 0 };
        struct net_box *box;
        int r;

        if (count > 1 && count <= NET_FD_DIALS)
                r = cay_fail(err, CAY_INVALID, "sandbox '%s': not the sockets of its network", req->id);
        else if (*find(b, req->id))
                r = cay_fail(err, CAY_EXISTS, "sandbox '%s' has a network already", req->id);
        else if (b->box_count >= NET_BOXES_MAX)
                r = cay_fail(err, CAY_LIMIT, "more than %u sandboxes have a network", NET_BOXES_MAX);
        else
                r = read_policy(fds[count - 1], &policy, err);
        close(fds[count - 1]);
        if (r < 0) {
                sys_close_fds(fds, count - 1);
                return r;
        }
        box = net_box_new_take(&b->world, req, fds, count - 1, &policy, err);
        if (!box)
                return -1;
        box->next = b->boxes;
        b->boxes = box;
        b->box_count++;
        return 0;
}

static int change_box(struct broker *b, const struct net_box_request *req, int fd, struct cay_error *err)
{
        struct net_box *box = *find(b, req->id);
        struct cay_policy_pair policy = { 0 };

        if (!box)
                return cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no network here", req->id);
        if (read_policy(fd, &policy, err) < 0)
                return -1;
        if (policy.member.network[0] != '\0' && box->dial_count == 0) {
                cay_policy_pair_done(&policy);
                return cay_fail(err, CAY_CONFLICT,
                                "sandbox '%s' was given without sockets for a private network", req->id);
        }
        net_box_change_take(box, &req->limits, &policy);
        return 0;
}

static int change_secrets(struct broker *b, const struct net_box_request *req, int fd, struct cay_error *err)
{
        struct net_box *box = *find(b, req->id);
        struct cay_net_secrets *secrets = NULL;
        cay_auto_free char *text = NULL;
        size_t len = 0;
        int r;

        if (!box)
                return cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no network here", req->id);
        text = malloc(NET_POLICY_MAX + 1);
        if (!text)
                return cay_fail(err, CAY_INTERNAL, "secrets: no memory");
        r = receive_text(fd, text, &len, err);
        if (r == 0)
                r = cay_secret_text_read(text, len, &secrets, err);
        explicit_bzero(text, len);
        if (r == 0)
                net_edge_change_take(box, secrets);
        return r;
}

/* From a box without sockets, by way of the front: what it asks for there is judged as everything is. */
static int begin_proxied_take(struct broker *b, const struct net_box_request *req, int fd,
                              struct cay_error *err)
{
        struct net_box *box = *find(b, req->id);

        if (!box)
                cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no network here", req->id);
        else if (!net_box_is_stream(fd))
                cay_fail(err, CAY_INVALID, "sandbox '%s': not a stream to its proxy", req->id);
        if (err->code != CAY_OK) {
                close(fd);
                return -1;
        }
        net_conn_begin_proxied_take(box, fd);
        return 0;
}

static void drop_box(struct broker *b, struct net_box **at)
{
        struct net_box *box = *at;

        *at = box->next;
        b->box_count--;
        b->dropped = box;
        net_box_free(box);
        b->dropped = NULL;
}

static void put_stats(const struct net_box *box, struct net_answer *a)
{
        a->stats.up_bytes = box->stats.up_bytes;
        a->stats.down_bytes = box->stats.down_bytes;
        a->stats.connections = box->conn_count;
        a->stats.connections_all = box->stats.connections_all;
        a->stats.refused = box->stats.refused;
        a->stats.queries = box->stats.queries;
        a->stats.queries_refused = box->stats.queries_refused;
        a->stats.log_first = box->log.first;
        a->stats.log_next = box->log.next;
        a->stats.is_over_quota = box->is_over_quota;
}

static void put_list(const struct broker *b, uint32_t from, struct net_answer *a)
{
        const struct net_box *box = b->boxes;

        for (uint32_t i = 0; box && i < from; i++)
                box = box->next;
        a->list.next = from + (box != NULL);
        if (box)
                cay_str_copy(a->id, sizeof(a->id), box->id);
}

static void greet(struct broker *b, const struct net_request *req, struct net_answer *a)
{
        struct cay_error err = { 0 };

        a->hello.version = NET_WIRE_VERSION;
        if (req->hello.version != NET_WIRE_VERSION) {
                cay_fail(&err, CAY_INVALID, "cay-net and its caller are of different versions (%u, %u)",
                         NET_WIRE_VERSION, req->hello.version);
                put_error(a, &err);
                return;
        }
        b->server.state = HELPER_READY;
        for (struct net_box *box = b->boxes; box; box = box->next)
                box->log_told = box->log.next; /* what was before is asked for */
}

/* Requests about one sandbox that is there. */
static int ask_box(struct broker *b, const struct net_request *req, struct net_answer *a,
                   struct cay_error *err)
{
        const char *id = req->type == NET_log_read ? req->log.id : req->box.id;
        struct net_box **at = find(b, id);

        cay_str_copy(a->id, sizeof(a->id), id);
        if (!*at)
                return cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no network here", id);
        net_box_note_refused(*at);
        push_box(b, *at); /* with an answer the front has all that was before it */
        if (req->type == NET_log_read) {
                net_log_read(&(*at)->log, req->log.from, &a->log);
                return 0;
        }
        put_stats(*at, a); /* the last ones, if it is dropped */
        if (req->type == NET_box_drop)
                drop_box(b, at);
        return 0;
}

static int serve_all_take(struct helper_server *e, const void *request, const int *fds, unsigned count)
{
        struct broker *b = cay_container_of(e, struct broker, server);
        const struct net_request *req = request;
        struct net_answer a = { .type = req->type, .seq = req->seq };
        struct cay_error err = { 0 };

        if (net_request_check_id(req) < 0) {
                sys_close_fds(fds, count);
                return -EPROTO;
        }
        switch (req->type) {
        case NET_hello:
                greet(b, req, &a);
                break;
        case NET_box_add:
                cay_str_copy(a.id, sizeof(a.id), req->box.id);
                add_box_take(b, &req->box, fds, count, &err);
                break;
        case NET_box_policy:
                cay_str_copy(a.id, sizeof(a.id), req->box.id);
                change_box(b, &req->box, fds[0], &err);
                close(fds[0]);
                break;
        case NET_box_secrets:
                cay_str_copy(a.id, sizeof(a.id), req->box.id);
                change_secrets(b, &req->box, fds[0], &err);
                close(fds[0]);
                break;
        case NET_box_proxy:
                cay_str_copy(a.id, sizeof(a.id), req->box.id);
                begin_proxied_take(b, &req->box, fds[0], &err);
                break;
        case NET_dial: /* a front could reach the same through a sandbox's policy: it is no wider */
                net_dialler_begin_take(&b->dialler, &req->dial, fds[0]);
                break;
        case NET_box_list:
                put_list(b, req->list.from, &a);
                break;
        default:
                ask_box(b, req, &a, &err);
        }
        if (err.code != CAY_OK)
                put_error(&a, &err);
        helper_server_say(e, &a);
        return 0;
}

/* A keeper brings the next one. Without a keeper, who started us is gone, and nobody's sandboxes are left. */
static void on_front_end(struct helper_server *e)
{
        if (!cay_container_of(e, struct broker, server)->is_kept)
                cay_loop_stop(e->loop);
}

static const struct helper_server_kind front = {
        .protocol = &net_protocol,
        .serve_all_take = serve_all_take,
        .on_front_end = on_front_end,
};

/* Start and end */

static void set_room(struct net_world *w)
{
        uint64_t files = sys_files_raise(FILES_MOST), kept = FILES_OTHER + NET_BOXES_MAX * FILES_BOX;
        uint64_t free_files = files > 2 * kept ? files - kept : files / 2;

        w->connections_most = (unsigned)(free_files / 4); /* two sockets each; the other half is for pipes */
        w->pipes.most = (unsigned)(free_files / 8);
        w->pipes.most = w->pipes.most > 1024 ? 1024 : w->pipes.most;
}

static int set_up(struct broker *b, const struct net_options *o, struct cay_error *err)
{
        int r;

        set_room(&b->world);
        b->dialler.world = &b->world;
        b->world.on_log = on_log;
        b->world.loop = cay_loop_new();
        b->world.resolver = b->world.loop ? net_resolver_new(b->world.loop, o->resolv_conf) : NULL;
        if (!b->world.resolver)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        b->world.routes = sys_route_open();
        if (b->world.routes < 0)
                return cay_fail_sys(err, CAY_INTERNAL, b->world.routes, "open the kernel's routes");
        b->server = (struct helper_server){ .kind = &front, .loop = b->world.loop, .request = &b->request };
        b->is_kept = o->keep;
        if (b->edge_link >= 0) {
                b->world.edge = net_edge_new_take(&b->world, cay_take_fd(b->edge_link));
                if (!b->world.edge)
                        return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        fcntl(HELPER_FRONT_FD, F_SETFD, FD_CLOEXEC);
        r = helper_server_open_front(&b->server, HELPER_FRONT_FD);
        if (r == 0 && o->keep) {
                fcntl(HELPER_KEEPER_FD, F_SETFD, FD_CLOEXEC);
                r = helper_server_open_keeper(&b->server, HELPER_KEEPER_FD);
        }
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch the front's socket") : 0;
}

static void close_all(struct broker *b)
{
        cay_timer_clear(&b->push_again);
        b->world.on_log = NULL;
        while (b->boxes)
                drop_box(b, &b->boxes);
        net_dialler_done(&b->dialler);
        helper_server_close(&b->server);
        net_resolver_free(b->world.resolver);
        if (b->world.loop)
                cay_loop_round(b->world.loop, 0); /* what was under way is told to nobody, and freed */
        net_pipes_done(&b->world.pipes);
        net_edge_free(b->world.edge);
        if (b->world.routes >= 0)
                close(b->world.routes);
        cay_loop_free(b->world.loop);
}

int net_main(int argc, char **argv)
{
        static struct broker b = { .world.routes = -1, .edge_link = -1 };
        const struct cay_log_config log = { .program = "cay-net",
                                            .least = CAY_LOG_WARN,
                                            .fd = STDERR_FILENO };
        struct net_options o;
        struct cay_error err = { 0 };
        sigset_t none;
        int r;

        cay_log_setup(&log);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* whoever started us may have them blocked until here */
        signal(SIGPIPE, SIG_IGN);
        r = net_options_read(argc, argv, &o, &err);
        if (r == 0 && o.edge) {
                b.edge_link = net_edge_start(o.edge, o.id, &err);
                r = b.edge_link < 0 ? -1 : 0;
        }
        if (r == 0)
                r = net_give_up_root(&o, &err);
        if (r == 0)
                r = set_up(&b, &o, &err);
        if (r == 0)
                r = net_confine(&o, &err);
        if (r == 0)
                cay_loop_run(b.world.loop);
        else
                cay_log_error("cay-net cannot start", "error=%s", err.msg);
        close_all(&b);
        return r < 0 ? 1 : 0;
}
