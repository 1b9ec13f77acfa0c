/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes into a container before its start. Init's file belongs to root and can be run but not read: the
 * kernel makes whoever runs it undumpable from the first instruction. Its configuration, with the secret,
 * lies in a folder of the sandbox's user, so that init can remove it.
 */
#include <errno.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "cay-docker/order.h"
#include "foundation/tar/tar.h"
#include "links/helper/init_config.h"

#define TAR_UID 108u /* places in a header block */
#define TAR_GID 116u
#define TAR_CHECKSUM 148u

/* The header says who owns the member; cay_tar_member_format leaves that to the side that unpacks. */
static void set_owner(uint8_t *block, unsigned uid)
{
        unsigned sum = 0;

        snprintf((char *)block + TAR_UID, 8, "%07o", uid);
        snprintf((char *)block + TAR_GID, 8, "%07o", uid);
        memset(block + TAR_CHECKSUM, ' ', 8);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += block[i];
        snprintf((char *)block + TAR_CHECKSUM, 8, "%06o", sum);
}

static int put_member(struct cay_buf *out, const char *name, unsigned mode, unsigned uid, const void *bytes,
                      size_t len)
{
        const struct cay_tar_member m = {
                .type = bytes ? CAY_TAR_FILE : CAY_TAR_DIRECTORY,
                .mode = mode,
                .size = len,
                .mtime_s = (int64_t)(cay_clock_wall_ms() / 1000),
                .name = name,
                .link = "",
        };
        static const uint8_t zeros[CAY_TAR_BLOCK];
        uint8_t block[CAY_TAR_BLOCK * 2];
        int n = cay_tar_member_format(&m, block, sizeof(block)), r;

        if (n != (int)CAY_TAR_BLOCK)
                return n < 0 ? n : -EINVAL;
        set_owner(block, uid);
        r = cay_buf_put(out, block, CAY_TAR_BLOCK);
        if (r == 0 && len > 0)
                r = cay_buf_put(out, bytes, len);
        return r == 0 ? cay_buf_put(out, zeros, cay_tar_padding(len)) : r;
}

static struct cay_init_config configure(const struct docker_order *order, const struct docker_facts *facts)
{
        const struct docker_plan *p = &order->plan;
        struct cay_init_config c = {
                .magic = CAY_INIT_MAGIC,
                .size = sizeof(c),
                .flags = CAY_INIT_ISOLATED | CAY_INIT_ONE_ID | CAY_INIT_OOM_SET | CAY_INIT_DOCKER |
                         (p->flags & DOCKER_PLAN_READ_ONLY ? CAY_INIT_READ_ONLY : 0),
                .uid = DOCKER_USER,
                .gid = DOCKER_USER,
                .cpus = p->cpu_milli ? (p->cpu_milli + 999) / 1000 : facts->cpus,
                .test_off = p->test_off,
                .memory_bytes = p->memory_bytes,
                .swap_bytes = p->swap_bytes,
                .boot_wall_s = cay_clock_wall_ms() / 1000,
                .workspace_dev = order->bind_dev,
                .workspace_ino = order->bind_ino,
        };

        memcpy(c.secret, p->secret, sizeof(c.secret));
        return c;
}

const char *docker_order_archive_path(const struct docker_order *order)
{
        return order->plan.flags & DOCKER_PLAN_READ_ONLY ? "/.cay" : "/";
}

/* A fresh volume is root's: its first folder becomes the sandbox's. */
static int put_volumes(const struct docker_plan *p, struct cay_buf *out)
{
        char name[DOCKER_TARGET + 1];
        int r = 0;

        for (unsigned i = 0; i < p->volume_count && r == 0; i++) {
                snprintf(name, sizeof(name), "%s/", p->volumes[i].target + 1);
                if (!p->volumes[i].read_only)
                        r = put_member(out, name, 0755, DOCKER_USER, NULL, 0);
        }
        return r;
}

/* Files of the image, with the sandbox's user in them. */
static int put_accounts(const struct cay_buf *accounts, struct cay_buf *out)
{
        int r = 0;

        for (unsigned i = 0; i < DOCKER_ACCOUNT_COUNT && r == 0; i++)
                if (accounts[i].len > 0)
                        r = put_member(out, docker_account_path((enum docker_account)i) + 1, 0644, 0,
                                       cay_buf_data(&accounts[i]), accounts[i].len);
        return r;
}

/* For programs to trust: the host's certificates, then the daemon's own (docs/network.md, secrets). */
static int put_certificates(const struct docker_plan *p, const struct cay_buf *host, struct cay_buf *out)
{
        cay_auto_buf struct cay_buf all = { 0 };
        int r;

        cay_buf_init(&all, DOCKER_CERTIFICATES_MAX + sizeof(p->ca));
        r = cay_buf_put(&all, cay_buf_data(host), host->len);
        if (r == 0)
                r = cay_buf_puts(&all, p->ca);
        return r == 0 ? put_member(out, &DOCKER_CA_FILE[1], 0644, 0, cay_buf_data(&all), all.len) : r;
}

/*
 * With a read-only root an archive may go into a volume only, and of one that goes into /workspace Docker
 * leaves out the member ".", which is that folder. By its name from above the folder is a member like any
 * other, and Docker sees that it is not outside.
 */
int docker_order_put_workspace(struct cay_buf *out)
{
        static const uint8_t end[CAY_TAR_BLOCK * 2];
        int r = put_member(out, "../workspace/", 0755, DOCKER_USER, NULL, 0);

        return r == 0 ? cay_buf_put(out, end, sizeof(end)) : r;
}

int docker_order_put_archive(const struct docker_order *order, const struct docker_facts *facts,
                             const void *init, size_t init_len, const struct cay_buf *accounts,
                             const struct cay_buf *certificates, struct cay_buf *out)
{
        bool read_only = order->plan.flags & DOCKER_PLAN_READ_ONLY;
        bool fresh = !(order->plan.flags & DOCKER_PLAN_GO_ON);
        struct cay_init_config config = configure(order, facts);
        static const uint8_t end[CAY_TAR_BLOCK * 2];
        int r = 0;

        if (!read_only) /* else it is the volume's own folder */
                r = put_member(out, ".cay/", 0755, 0, NULL, 0);
        if (r == 0)
                r = put_member(out, read_only ? "init" : ".cay/init", 0111, 0, init, init_len);
        if (r == 0)
                r = put_member(out, read_only ? "in/" : ".cay/in/", 0700, DOCKER_USER, NULL, 0);
        if (r == 0)
                r = put_member(out, read_only ? "in/config" : ".cay/in/config", 0400, DOCKER_USER, &config,
                               sizeof(config));
        if (r == 0 && !read_only && fresh && !order->bind[0])
                r = put_member(out, "workspace/", 0755, DOCKER_USER, NULL, 0);
        if (r == 0 && !read_only && fresh)
                r = put_member(out, "home/sandbox/", 0755, DOCKER_USER, NULL, 0);
        if (r == 0 && !read_only && fresh)
                r = put_accounts(accounts, out);
        if (r == 0 && order->plan.flags & DOCKER_PLAN_CA)
                r = put_certificates(&order->plan, certificates, out);
        if (r == 0 && fresh)
                r = put_volumes(&order->plan, out);
        if (r == 0)
                r = cay_buf_put(out, end, sizeof(end));
        explicit_bzero(config.secret, sizeof(config.secret));
        return r;
}
