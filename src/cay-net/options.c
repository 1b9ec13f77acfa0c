/* SPDX-License-Identifier: Apache-2.0 */
/* cay-net [--keep] [--id N] [--resolv-conf PATH] [--edge PATH] */
#include <string.h>

#include "cay-net/broker.h"
#include "foundation/base/parse.h"

int net_options_read(int argc, char **argv, struct net_options *ret, struct cay_error *err)
{
        *ret = (struct net_options){ .resolv_conf = "/etc/resolv.conf" };
        for (int i = 1; i < argc; i++) {
                const char *value = i + 1 < argc ? argv[i + 1] : NULL;
                uint64_t id;

                if (strcmp(argv[i], "--keep") == 0) {
                        ret->keep = true;
                } else if (strcmp(argv[i], "--resolv-conf") == 0 && value) {
                        ret->resolv_conf = argv[++i];
                } else if (strcmp(argv[i], "--edge") == 0 && value) {
                        ret->edge = argv[++i];
                } else if (strcmp(argv[i], "--id") == 0 && value) {
                        if (cay_parse_u64(argv[++i], &id) < 0 || id < 1 || id > INT32_MAX)
                                return cay_fail(err, CAY_INVALID,
                                                "--id: '%.20s' is not a user id: use 1 to %d", argv[i],
                                                INT32_MAX);
                        ret->id = (unsigned)id;
                } else {
                        return cay_fail(err, CAY_INVALID,
                                        "unknown argument '%.60s': use --keep, --id N, --resolv-conf PATH or "
                                        "--edge PATH",
                                        argv[i]);
                }
        }
        return 0;
}
