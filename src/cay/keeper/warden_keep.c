/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the keeper's warden, and sends it messages over the keeper's socket (links/helper/message.h). */
#include <sys/socket.h>

#include "cay/keeper/ceiling.h"
#include "cay/keeper/serve_priv.h"
#include "cay/keeper/spawn.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"

static int tell(const struct cay_helper *h, uint32_t type, uint32_t nr, int fd)
{
        const struct wire_keeper say = {
                .magic = WIRE_KEEPER_MAGIC, .size = sizeof(say), .type = type, .nr = nr
        };

        return (int)sys_send_fds(h->sock, &say, sizeof(say), &fd, 1, MSG_NOSIGNAL);
}

int cay_warden_keep_tell_registry(struct keeper *k)
{
        return tell(&k->helpers[CAY_HELPER_warden], WIRE_KEEPER_REGISTRY, 0,
                    cay_registry_keep_folder(&k->registry));
}

static int tell_ceiling(struct keeper *k, const struct cay_helper *h)
{
        struct wire_keeper_ceiling say = { .magic = WIRE_KEEPER_MAGIC,
                                           .size = sizeof(say),
                                           .type = WIRE_KEEPER_CEILING };
        struct cay_machine machine;

        cay_machine_look(&machine, k->place.data_fd);
        cay_ceiling_make(k->options->config, &machine, &say.ceiling);
        return (int)sys_send_fds(h->sock, &say, sizeof(say), NULL, 0, MSG_NOSIGNAL);
}

static int tell_margin(struct keeper *k, const struct cay_helper *h)
{
        const uint64_t mib = k->options->config->disk_reserve >> 20;
        const struct wire_keeper say = { .magic = WIRE_KEEPER_MAGIC,
                                         .size = sizeof(say),
                                         .type = WIRE_KEEPER_MARGIN,
                                         .nr = mib < UINT32_MAX ? (uint32_t)mib : UINT32_MAX };

        return (int)sys_send_fds(h->sock, &say, sizeof(say), NULL, 0, MSG_NOSIGNAL);
}

/*
 * Tells it the clients' folders and the operator's maxima before its first front. The keeper does that
 * because the front is not trusted.
 */
static int introduce(struct keeper *k, struct cay_helper *h, struct cay_error *err)
{
        int r = tell_ceiling(k, h);

        if (r >= 0)
                r = tell(h, WIRE_KEEPER_LISTENER, 0, k->place.unix_fd);
        for (unsigned i = 0; i < k->place.root_count && r >= 0; i++)
                if (k->place.root_fds[i] >= 0)
                        r = tell(h, WIRE_KEEPER_ROOT, i, k->place.root_fds[i]);
        if (r >= 0 && cay_registry_keep_folder(&k->registry) >= 0)
                r = cay_warden_keep_tell_registry(k);
        if (r >= 0)
                r = tell_margin(k, h);
        if (r >= 0)
                r = cay_upgrade_watch(k);
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "instruct the warden") : 0;
}

int cay_warden_keep_start(struct keeper *k, struct cay_helper *h, struct cay_error *err)
{
        char *argv[] = { (char *)"cay-warden", (char *)"keep", NULL };
        const int fds[] = { k->place.layers_fd, k->place.disk_fd };
        const struct cay_spawn s = { .argv = argv, .fds = fds, .fd_count = CAY_COUNT(fds) };

        return cay_helper_start(h, &s, err) == 0 ? introduce(k, h, err) : -1;
}

void cay_warden_keep_on_close(struct keeper *k, struct cay_helper *h)
{
        cay_watch_remove(&k->warden_watch);
}
