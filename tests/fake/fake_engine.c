/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of port_engine.h kept by the book, and broken on demand. */
#include "fake/fake_engine.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "foundation/base/str.h"

#define BOXES_MAX 64
#define LAYERS_MAX 64

struct fake_seen fake_seen;
struct fake_plan fake_plan = { .script.end.last_denied = -1 };
static unsigned alive, creates, stats_asked;
static char layers[LAYERS_MAX][CAY_NAME_MAX + 1]; /* "": free */

struct box {
        struct fake_engine *engine;
        struct box *next;
        char id[CAY_NAME_MAX + 1];
        struct fake_init *init; /* NULL: gone by itself */
        struct cay_timer timer, gone_timer;
        int late_fd;
        bool made, frozen;
        struct cay_engine_box *asker;
        struct cay_job *job;
        struct cay_spec_port ports[CAY_SPEC_PORTS_MAX];
        unsigned port_count;
};

struct fake_engine {
        struct cay_engine engine;
        struct cay_loop *loop;
        struct box *boxes;
        unsigned count;
        void (*gone)(void *ctx, const char *id);
        void *gone_ctx;
        void (*files_lost)(void *ctx, const char *id);
        void *files_lost_ctx;
};

static struct fake_engine *latest; /* borrowed; NULL: none, or closed */

void fake_plan_reset(void)
{
        fake_plan = (struct fake_plan){ .script.end.last_denied = -1 };
        fake_seen = (struct fake_seen){ 0 };
        creates = stats_asked = 0;
        memset(layers, 0, sizeof(layers));
}

static char *find_layer(const char *id)
{
        for (unsigned i = 0; i < LAYERS_MAX; i++)
                if (strcmp(layers[i], id) == 0)
                        return layers[i];
        return NULL;
}

bool fake_engine_keeps(const char *id)
{
        return find_layer(id) != NULL;
}

void fake_engine_lose_layer(const char *id)
{
        char *layer = find_layer(id);

        if (layer != NULL)
                layer[0] = '\0';
}

void fake_engine_add_layer(const char *id)
{
        char *layer = find_layer(id) != NULL ? find_layer(id) : find_layer("");

        if (layer == NULL || !cay_str_copy(layer, sizeof(layers[0]), id))
                abort();
}

unsigned fake_engine_boxes(void)
{
        return alive;
}

unsigned fake_engine_creates(void)
{
        return creates;
}

unsigned fake_engine_stats(void)
{
        return stats_asked;
}

static struct fake_engine *self(struct cay_engine *e)
{
        return cay_container_of(e, struct fake_engine, engine);
}

static void finish(struct fake_engine *fe, struct cay_job *job, enum cay_code code, const char *what)
{
        struct cay_error err = { 0 };

        if (code != CAY_OK)
                cay_fail(&err, code, "fake engine: %s", what);
        if (code == CAY_CONFLICT && strcmp(what, "its files are gone") == 0)
                err.sys = ENOENT;
        cay_job_finish(cay_loop_jobs(fe->loop), job, code != CAY_OK ? &err : NULL);
}

static struct box *find(struct fake_engine *fe, const char *id)
{
        for (struct box *b = fe->boxes; b != NULL; b = b->next)
                if (strcmp(b->id, id) == 0)
                        return b;
        return NULL;
}

static void box_free(struct box *b)
{
        struct fake_engine *fe = b->engine;

        for (struct box **p = &fe->boxes; *p != NULL; p = &(*p)->next) {
                if (*p == b) {
                        *p = b->next;
                        break;
                }
        }
        cay_timer_clear(&b->timer);
        cay_timer_clear(&b->gone_timer);
        if (b->late_fd >= 0)
                close(b->late_fd);
        fake_init_free(b->init);
        free(b);
        fe->count--;
        alive--;
}

static int fake_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        struct fake_engine *fe;

        if (fake_plan.open_fails != CAY_OK)
                return cay_fail(err, fake_plan.open_fails, "fake engine: open");
        fe = calloc(1, sizeof(*fe));
        if (fe == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        fe->engine.ops = &cay_engine_fake_ops;
        fe->engine.caps = (fake_plan.can_keep ? CAY_ENGINE_CAN_KEEP : 0) |
                          (fake_plan.can_bridge ? CAY_ENGINE_CAN_NETWORK_BRIDGE | CAY_ENGINE_CAN_PORTS |
                                                          CAY_ENGINE_CAN_VOLUMES
                                                : 0);
        fe->loop = env->loop;
        latest = fe;
        *ret = &fe->engine;
        return 0;
}

static int fake_close(struct cay_engine *e)
{
        struct fake_engine *fe;

        if (e == NULL)
                return 0;
        fe = self(e);
        while (fe->boxes != NULL) {
                struct box *b = fe->boxes;

                if (b->job != NULL)
                        finish(fe, b->job, CAY_UNAVAILABLE, "closed");
                box_free(b);
        }
        if (latest == fe)
                latest = NULL;
        free(fe);
        return 0;
}

void fake_engine_break(void)
{
        for (struct box *b = latest->boxes, *next; b != NULL; b = next) {
                next = b->next;
                if (b->made || b->job == NULL)
                        continue;
                finish(latest, cay_take(b->job), CAY_UNAVAILABLE, "gone");
                box_free(b);
        }
        fake_plan.destroy_fails = CAY_UNAVAILABLE; /* nobody is there to be asked */
}

static unsigned fake_can_hold(struct cay_engine *e)
{
        return CAY_LIMIT_MASK_ALL & ~fake_plan.cannot_hold;
}

static int new_link(struct box *b, int *ret_ours)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        *ret_ours = pair[0];
        return fake_init_link_take(b->init, pair[1]);
}

static void on_exit_of_init(void *ctx)
{
        struct box *b = ctx;

        fake_init_free(cay_take(b->init));
        if (b->engine->gone != NULL)
                b->engine->gone(b->engine->gone_ctx, b->id);
}

static void on_gone_time(struct cay_timer *t)
{
        on_exit_of_init(cay_container_of(t, struct box, gone_timer));
}

static void finish_create(struct box *b)
{
        struct cay_job *job = cay_take(b->job);

        b->made = true;
        if (b->late_fd >= 0)
                b->asker->link_fd = cay_take_fd(b->late_fd);
        b->asker = NULL;
        finish(b->engine, job, CAY_OK, NULL);
}

static void on_created(struct cay_timer *t)
{
        struct box *b = cay_container_of(t, struct box, timer);

        finish_create(b);
}

static enum cay_code refuse(struct fake_engine *fe, const struct cay_spec *spec, const char **ret_why)
{
        struct cay_error err = { 0 };

        *ret_why = "create";
        if (fake_plan.create_fails != CAY_OK)
                return fake_plan.create_fails;
        *ret_why = "bad spec";
        if (cay_spec_check(spec, &err) < 0)
                return err.code;
        *ret_why = "exists";
        if (find(fe, spec->id) != NULL)
                return CAY_EXISTS;
        *ret_why = "limits that cannot be held";
        if (cay_limits_set_mask(&spec->limits) & fake_plan.cannot_hold & ~spec->may_skip)
                return CAY_UNSUPPORTED;
        *ret_why = "its files are gone";
        if (spec->go_on && find_layer(spec->id) == NULL)
                return CAY_CONFLICT;
        *ret_why = "its files are there already";
        if (spec->keep && !spec->go_on && find_layer(spec->id) != NULL)
                return CAY_EXISTS;
        *ret_why = "too many";
        return fe->count >= BOXES_MAX ? CAY_LIMIT : CAY_OK;
}

static void see(const struct cay_spec *spec)
{
        fake_seen = (struct fake_seen){ .bridge = spec->bridge,
                                        .port_count = spec->port_count,
                                        .volume_count = spec->volume_count,
                                        .label_count = spec->label_count };
        if (spec->volume_count > 0) {
                cay_str_copy(fake_seen.volume, sizeof(fake_seen.volume), spec->volumes[0].name);
                cay_str_copy(fake_seen.target, sizeof(fake_seen.target), spec->volumes[0].target);
                fake_seen.read_only = spec->volumes[0].read_only;
        }
        if (spec->label_count > 0) {
                cay_str_copy(fake_seen.label, sizeof(fake_seen.label), spec->labels[0]);
                cay_str_copy(fake_seen.value, sizeof(fake_seen.value), spec->labels[1]);
        }
}

static void tell_ports(const struct box *b, struct cay_engine_box *box)
{
        memcpy(box->ports, b->ports, sizeof(box->ports));
        box->port_count = b->port_count;
}

static void publish(struct box *b, const struct cay_spec *spec)
{
        b->port_count = spec->port_count;
        for (unsigned i = 0; i < spec->port_count; i++) {
                uint16_t wish = spec->ports[i].host;

                b->ports[i] = (struct cay_spec_port){ .inside = spec->ports[i].inside,
                                                      .host = (uint16_t)(wish > 0 ? wish + 1u : 40000 + i) };
        }
}

static void fake_create(struct cay_engine *e, const struct cay_spec *spec, struct cay_engine_box *box,
                        struct cay_job *job)
{
        struct fake_engine *fe = self(e);
        const char *why;
        enum cay_code code = refuse(fe, spec, &why);
        struct box *b;
        int fd = -1;

        creates++;
        box->link_fd = -1;
        b = code == CAY_OK ? calloc(1, sizeof(*b)) : NULL;
        if (b == NULL) {
                finish(fe, job, code != CAY_OK ? code : CAY_INTERNAL, why);
                return;
        }
        if (getrandom(box->secret, sizeof(box->secret), 0) != (ssize_t)sizeof(box->secret))
                abort();
        b->engine = fe;
        b->late_fd = -1;
        b->job = job;
        b->asker = box;
        b->init = fake_init_new(fe->loop, &fake_plan.script, box->secret, on_exit_of_init, b);
        cay_str_copy(b->id, sizeof(b->id), spec->id);
        cay_str_copy(box->id, sizeof(box->id), spec->id);
        see(spec);
        publish(b, spec);
        tell_ports(b, box);
        box->skipped = cay_limits_set_mask(&spec->limits) & fake_plan.cannot_hold;
        box->kept = spec->keep && fe->engine.caps & CAY_ENGINE_CAN_KEEP;
        if (box->kept)
                fake_engine_add_layer(spec->id);
        b->next = fe->boxes;
        fe->boxes = b;
        fe->count++;
        alive++;
        if (b->init == NULL || new_link(b, &fd) < 0)
                abort();
        if (fake_plan.late_link)
                b->late_fd = fd;
        else
                box->link_fd = fd;
        if (fake_plan.gone_after_ms > 0)
                cay_timer_set(fe->loop, &b->gone_timer, fake_plan.gone_after_ms, on_gone_time);
        if (fake_plan.create_hangs)
                return;
        if (fake_plan.create_ms > 0)
                cay_timer_set(fe->loop, &b->timer, fake_plan.create_ms, on_created);
        else
                finish_create(b);
}

static void fake_relink(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct fake_engine *fe = self(e);
        struct box *b = find(fe, box->id);

        if (fake_plan.relink_fails != CAY_OK)
                finish(fe, job, fake_plan.relink_fails, "relink");
        else if (b == NULL)
                finish(fe, job, CAY_NOT_FOUND, "relink");
        else if (b->init == NULL || new_link(b, &box->link_fd) < 0)
                finish(fe, job, CAY_UNAVAILABLE, "relink");
        else {
                tell_ports(b, box);
                finish(fe, job, CAY_OK, NULL);
        }
}

static void freezer(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job, bool frozen)
{
        struct fake_engine *fe = self(e);
        struct box *b = find(fe, box->id);

        if (b != NULL && fake_plan.freeze_fails == CAY_OK)
                b->frozen = frozen;
        finish(fe, job, b == NULL ? CAY_NOT_FOUND : fake_plan.freeze_fails, "freezer");
}

static void fake_freeze(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        freezer(e, box, job, true);
}

static void fake_thaw(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        freezer(e, box, job, false);
}

static void fake_stats(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct fake_engine *fe = self(e);

        if (find(fe, box->id) == NULL) {
                finish(fe, job, CAY_NOT_FOUND, "stats");
                return;
        }
        stats_asked++;
        box->stats = fake_plan.stats;
        finish(fe, job, CAY_OK, NULL);
}

static void finish_destroy(struct box *b)
{
        struct fake_engine *fe = b->engine;
        struct cay_job *job = cay_take(b->job);

        b->asker->stats = fake_plan.stats;
        box_free(b);
        finish(fe, job, fake_plan.destroy_fails, "destroy");
}

static void on_destroyed(struct cay_timer *t)
{
        finish_destroy(cay_container_of(t, struct box, timer));
}

static void unmake(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct fake_engine *fe = self(e);
        struct box *b = find(fe, box->id);

        if (b == NULL) {
                finish(fe, job, fake_plan.destroy_fails, "destroy");
                return;
        }
        if (b->job != NULL) {
                finish(fe, job, CAY_CONFLICT, "destroy");
                return;
        }
        b->job = job;
        b->asker = box;
        fake_init_free(cay_take(b->init));
        if (fake_plan.destroy_hangs)
                return;
        if (fake_plan.destroy_ms > 0)
                cay_timer_set(fe->loop, &b->timer, fake_plan.destroy_ms, on_destroyed);
        else
                finish_destroy(b);
}

static void fake_destroy(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        if (fake_plan.destroy_fails == CAY_OK)
                fake_engine_lose_layer(box->id);
        unmake(e, box, job);
}

static void fake_stop(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        unmake(e, box, job);
}

static int fake_list_kept(struct cay_engine *e, void (*each)(void *ctx, const char *id), void *ctx,
                          struct cay_error *err)
{
        for (unsigned i = 0; i < LAYERS_MAX; i++)
                if (layers[i][0] != '\0')
                        each(ctx, layers[i]);
        return 0;
}

static void fake_on_gone(struct cay_engine *e, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(e)->gone = gone;
        self(e)->gone_ctx = ctx;
}

static void fake_on_files_lost(struct cay_engine *e, void (*lost)(void *ctx, const char *id), void *ctx)
{
        self(e)->files_lost = lost;
        self(e)->files_lost_ctx = ctx;
}

static void fake_list(struct cay_engine *e, void (*each)(void *ctx, const char *id), void *ctx)
{
        for (struct box *b = self(e)->boxes; b != NULL; b = b->next)
                each(ctx, b->id);
}

void fake_engine_go_on(struct cay_engine *e, const char *id)
{
        struct box *b = find(self(e), id);

        if (b != NULL && !b->made)
                finish_create(b);
}

void fake_engine_cut_link(struct cay_engine *e, const char *id)
{
        struct box *b = find(self(e), id);

        if (b != NULL && b->init != NULL)
                fake_init_cut(b->init);
}

void fake_engine_vanish(struct cay_engine *e, const char *id, bool told)
{
        struct fake_engine *fe = self(e);
        struct box *b = find(fe, id);

        if (b == NULL)
                return;
        box_free(b);
        if (told && fe->gone != NULL)
                fe->gone(fe->gone_ctx, id);
}

void fake_engine_remove_layer(struct cay_engine *e, const char *id)
{
        fake_engine_lose_layer(id);
        if (self(e)->files_lost != NULL)
                self(e)->files_lost(self(e)->files_lost_ctx, id);
}

void fake_engine_vanish_init(struct cay_engine *e, const char *id)
{
        struct box *b = find(self(e), id);

        if (b != NULL)
                on_exit_of_init(b);
}

bool fake_engine_has(struct cay_engine *e, const char *id)
{
        return find(self(e), id) != NULL;
}

bool fake_engine_is_frozen(struct cay_engine *e, const char *id)
{
        const struct box *b = find(self(e), id);

        return b != NULL && b->frozen;
}

const struct cay_engine_ops cay_engine_fake_ops = {
        .name = "fake",
        .open = fake_open,
        .close = fake_close,
        .can_hold = fake_can_hold,
        .create = fake_create,
        .relink = fake_relink,
        .freeze = fake_freeze,
        .thaw = fake_thaw,
        .stats = fake_stats,
        .destroy = fake_destroy,
        .stop = fake_stop,
        .list_kept = fake_list_kept,
        .on_gone = fake_on_gone,
        .on_files_lost = fake_on_files_lost,
        .list = fake_list,
};
