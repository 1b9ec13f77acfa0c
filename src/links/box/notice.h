/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of WATCH on OUT: a sequence of records, each a u16 length followed by the notice. Names are
 * paths below the watched folder, as raw bytes from the file system.
 */
#pragma once

#include "links/box/message.h"

enum cay_box_notice_kind {
        CAY_NOTICE_NONE,
#define CAY_NOTICE(name, word, names, doc) CAY_NOTICE_##name,
#include "links/box/notices.def"
#undef CAY_NOTICE
        CAY_NOTICE_COUNT
};

struct cay_box_notice {
        uint8_t kind;                /* enum cay_box_notice_kind */
        bool is_folder;              /* of the subject; false also when unknown */
        uint32_t sys;                /* UNWATCHED: why not, an errno; else 0 */
        uint64_t folders;            /* number of watched folders, for READY and OVERFLOW; else 0 */
        struct cay_view name, name2; /* as many as the kind's row says, the others empty */
};

#define CAY_BOX_NOTICE_MAX (2u + 1 + 1 + 4 + 8 + 2 * (4 + CAY_BOX_PATH_MAX))

const char *cay_box_notice_word(unsigned kind); /* "created"; "" for an unknown kind */
/* The length, -EMSGSIZE or -EINVAL. */
int cay_box_notice_encode(const struct cay_box_notice *m, void *mem, size_t size);
/* Bytes used; 0: incomplete; or -EPROTO. Views point into mem. */
int cay_box_notice_decode(const void *mem, size_t len, struct cay_box_notice *ret);
