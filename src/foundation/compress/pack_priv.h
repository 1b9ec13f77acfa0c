/* SPDX-License-Identifier: Apache-2.0 */
/* What a form has to bring. */
#pragma once

#include "foundation/compress/pack.h"

struct cay_pack_ops {
        void *(*packer_new)(void); /* NULL: no memory */
        void (*packer_free)(void *state);
        enum cay_pack_state (*pack)(void *state, struct cay_pack_io *io, bool last);
        void *(*unpacker_new)(void);
        void (*unpacker_free)(void *state);
        /*
         * One member at most: DONE at its end, and the next call begins another. -1: *ret_why says what is
         * wrong.
         */
        int (*unpack)(void *state, struct cay_pack_io *io, const char **ret_why);
        uint8_t magic[CAY_PACK_SNIFF];
        unsigned magic_len;
};

#define CAY_PACK_FORM(name, word, type, ops) extern const struct cay_pack_ops ops;
#include "foundation/compress/forms.def"
#undef CAY_PACK_FORM
