/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in memory: boxes are fake_inits. What it does is in one plan that tests set before they open it.
 */
#pragma once

#include "domain/model/port_engine.h"
#include "fake/fake_init.h"

struct fake_plan {
        struct fake_script script; /* of every box */
        enum cay_code open_fails, create_fails, destroy_fails, relink_fails,
                freeze_fails;             /* CAY_OK: they do not */
        unsigned create_ms, destroy_ms;   /* how long they take */
        bool create_hangs, destroy_hangs; /* never answered, until close; a create: or fake_engine_go_on */
        bool late_link;                   /* the link is there when create is finished, not before */
        unsigned cannot_hold;             /* limits (mask) */
        struct cay_engine_stats stats;    /* as of stats and destroy */
        unsigned gone_after_ms;           /* the box goes by itself after so long, its link too */
        bool can_bridge; /* publishes ports: the one above each that is wished for, or 40000 and on */
        bool can_keep;   /* stop keeps layers; they outlive the engine, until the reset */
};

extern struct fake_plan fake_plan;
extern const struct cay_engine_ops cay_engine_fake_ops;

/* Of the last create. */
struct fake_seen {
        bool bridge;
        unsigned port_count, volume_count, label_count;
        char volume[CAY_NAME_MAX + 1], target[CAY_SPEC_TARGET_MAX + 1], label[64],
                value[64]; /* the first ones */
        bool read_only;
};

extern struct fake_seen fake_seen;

void fake_plan_reset(void);
void fake_engine_break(void); /* the engine opened last goes, and each box that it still makes */
void fake_engine_go_on(struct cay_engine *e, const char *id);    /* a create that hangs is finished */
void fake_engine_cut_link(struct cay_engine *e, const char *id); /* the stream is lost, the box lives */
void fake_engine_vanish(struct cay_engine *e, const char *id,
                        bool told); /* the box goes by itself; told: on_gone says so */
void fake_engine_vanish_init(struct cay_engine *e,
                             const char *id); /* its init goes, the shell of the box is left */
bool fake_engine_has(struct cay_engine *e, const char *id);
bool fake_engine_is_frozen(struct cay_engine *e, const char *id);
bool fake_engine_keeps(const char *id); /* there is a layer of this id */
void fake_engine_lose_layer(const char *id);
void fake_engine_remove_layer(struct cay_engine *e, const char *id); /* somebody else did it; told */
void fake_engine_add_layer(const char *id);
unsigned fake_engine_boxes(void);   /* alive in all engines, also half made ones */
unsigned fake_engine_creates(void); /* asked for since the last reset */
unsigned fake_engine_stats(void);   /* likewise */
