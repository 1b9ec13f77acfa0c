/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process engine: cay-init as a plain child, no isolation at all, no privileges needed. For trusted
 * commands and for tests; used only when asked for by name. It enforces the limits that init can enforce and
 * refuses the rest unless they may be skipped.
 *
 * The daemon runs it in a separate program (cay-process/broker.h), which assigns each box its own id if it
 * runs as root. There the front makes the streams and secrets of box links. The calls below exist only for
 * that.
 */
#pragma once

#include "domain/model/port_engine.h"

extern const struct cay_engine_ops cay_engine_process_ops;

/*
 * As ops->open; ids_at: each box has an id of its own, which root alone can give, and its folder there
 * (scratch.h); NULL: none.
 */
int cay_process_open(const struct cay_engine_env *env, const char *ids_at, struct cay_engine **ret,
                     struct cay_error *err);
/*
 * As ops->create; link is init's end of the box link (borrowed), box->secret is given, box->link_fd is not
 * used.
 */
void cay_process_create(struct cay_engine *e, const struct cay_spec *spec, int link,
                        struct cay_engine_box *box, struct cay_job *job);
/* As ops->adopt, likewise; workspace and skipped are filled. CAY_NOT_FOUND: also when it has ended. */
int cay_process_relink(struct cay_engine *e, struct cay_engine_box *box, int link, struct cay_error *err);
/*
 * Of the live boxes, the first at or after `from` (0: of all): its id and the next `from`; NULL: there is
 * none. Boxes that come and go between two calls do not affect the others.
 */
const char *cay_process_list_from(struct cay_engine *e, uint32_t from, uint32_t *ret_next);
