/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box has besides the plain container: a network of its own, published ports, volumes, labels of the
 * caller.
 *
 * Theory of operation. A network is a Docker network per box, named after it and found again by its labels.
 * Ports are published on the Docker host's loopback only. A port that is wished for is asked of Docker; where
 * it is taken, as a range behind it (of which Docker takes any), and what it took is read back. A volume is
 * Docker's own, named after instance, owner and the name asked for, and used only when its labels say that it
 * is that owner's. The caller's labels are prefixed, so none of them can be one of ours.
 */
#pragma once

#include "foundation/base/json_out.h"
#include "cay-docker/order.h"
#include "foundation/json/json_in.h"

#define DOCKER_LABEL_PREFIX "cay.label."
#define DOCKER_LABELS_MAX 64u
#define DOCKER_VOLUME_NAME 96      /* of Docker's name for one, with NUL */
#define DOCKER_PORT_WISH_MIN 1024u /* below, ports are the host's own services' */
#define DOCKER_PORT_SPAN 100u      /* how far Docker looks for a free one behind the one that is wished for */

int docker_extras_check(const struct docker_plan *p, struct cay_error *err);

/* Parts of "create a container". */
void docker_labels_put(struct cay_json *j, const struct docker_plan *p); /* members of an open object */
void docker_ports_put_exposed(struct cay_json *j, const struct docker_plan *p);
void docker_network_put_host(struct cay_json *j, const struct docker_order *order); /* network and bindings */
void docker_volumes_put(struct cay_json *j, const struct docker_plan *p,
                        const struct docker_options *o); /* items of an open array */

/* Bodies of their own. 0 or -errno. */
int docker_network_put_create(const struct docker_plan *p, const struct docker_options *o,
                              struct cay_buf *out);
int docker_volume_put_create(const struct docker_plan *p, unsigned i, const struct docker_options *o,
                             struct cay_buf *out);

/* Docker's name of an owner's volume; and is what Docker tells about one that volume? */
void docker_volume_name(const struct docker_options *o, const char *owner, const char *name,
                        char ret[DOCKER_VOLUME_NAME]);
bool docker_volume_is_ours(const struct docker_options *o, const char *owner, const char *name,
                           const struct cay_json_value *volume);
/* Is what Docker tells about a volume the plan's owner's? It may have been there before. */
bool docker_volume_is_owners(const struct docker_plan *p, unsigned i, const struct docker_options *o,
                             const struct cay_json_value *volume);
/* What was published, out of what Docker tells about a container. */
unsigned docker_ports_read(const struct cay_json_value *container, const struct docker_plan *p,
                           struct docker_port ret[DOCKER_PORTS_MAX]);
