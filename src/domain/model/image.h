/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images that engines build from templates' Dockerfiles: what is known of one, and a build under way. Plain
 * values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAY_IMAGE_NAME 64
#define CAY_IMAGE_ID 80
#define CAY_IMAGE_CONTEXT 65
#define CAY_IMAGE_TEXT 256
#define CAY_IMAGE_BUILT                                                                                      \
        "*built*" /* as spec->image: the image built from spec->template_name; cannot be a valid reference */

/* as template_name in a list: the engine may use the image named in `error`, but does not have it */
#define CAY_IMAGE_LACKS "*lacks*"
#define CAY_IMAGES_NAMED_MAX 32u /* such rows at most */

enum cay_image_state {
        CAY_IMAGE_STATE_NONE, /* was never built here */
        CAY_IMAGE_STATE_BUILDING,
        CAY_IMAGE_STATE_BUILT,
        CAY_IMAGE_STATE_STALE,  /* usable, but its files have changed since */
        CAY_IMAGE_STATE_FAILED, /* the last build failed; an earlier build may have left a usable image */
        CAY_IMAGE_STATE_COUNT
};

struct cay_image {
        char template_name[CAY_IMAGE_NAME];
        enum cay_image_state state;
        char id[CAY_IMAGE_ID];           /* "": there is none */
        char context[CAY_IMAGE_CONTEXT]; /* hash of what it was built from */
        uint64_t size_bytes;
        int64_t built_s;
        char step[CAY_IMAGE_TEXT], error[CAY_IMAGE_TEXT]; /* of the last build that failed */
        bool up_to_date;                                  /* of a build: nothing had to be done */
        unsigned dropped;                                 /* images that were removed */
};

struct cay_images { /* the caller's; rows has room for max */
        struct cay_image *rows;
        unsigned count, max;
};

enum cay_build_flow { CAY_BUILD_FOLLOW, CAY_BUILD_PAUSE, CAY_BUILD_LEAVE };

struct cay_build { /* the caller's until the job is finished */
        const char *template_name;
        bool no_cache; /* also when nothing has changed, and without a cache */
        bool cancels;  /* cancels it when nobody receives its lines any more */
        /*
         * Its output, line by line, without line ends; never called after the job's end or CAY_BUILD_LEAVE.
         * May be NULL.
         */
        void (*on_line)(struct cay_build *b, const char *line, size_t len);
        /* filled with the job: a failed build is an image in that state, not an error */
        struct cay_image image;
        void *engine; /* the adapter's, while it runs */
};

const char *cay_image_state_word(enum cay_image_state state); /* "none", "building"… */
