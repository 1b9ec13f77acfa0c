/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements, attributes and text of an XML document, pushed in pieces of any size, in constant memory. Made
 * for files that code in a sandbox wrote: there are no entities but the five of XML and characters by number,
 * a DOCTYPE is refused, nothing is fetched or expanded, depth has a maximum, and longer names and values are
 * cut. Pure: no allocation, no I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_XML_NAME_MAX 63u
#define CAY_XML_VALUE_MAX 1023u
#define CAY_XML_DEPTH_MAX 64u

struct cay_xml_events { /* texts are valid during the call */
        void (*open)(void *ctx, const char *name);
        void (*attribute)(void *ctx, const char *name, const char *value, bool is_cut); /* of the last open */
        void (*text)(void *ctx, const char *bytes, size_t len); /* in pieces of any size */
        void (*close)(void *ctx);
};

struct cay_xml {
        const struct cay_xml_events *events;
        void *ctx;
        /* below: private to xml.c */
        unsigned state, back; /* back: where a reference was found */
        unsigned depth, run;  /* run: how much of the end of a comment or the like has been seen */
        bool value_cut, seen_root;
        char quote;
        uint32_t names[CAY_XML_DEPTH_MAX]; /* of the open elements: hashes */
        size_t name_len, word_len, value_len;
        char name[CAY_XML_NAME_MAX + 1], word[CAY_XML_NAME_MAX + 1], value[CAY_XML_VALUE_MAX + 1];
};

void cay_xml_init(struct cay_xml *x, const struct cay_xml_events *events, void *ctx);
int cay_xml_feed(struct cay_xml *x, const char *bytes, size_t len, struct cay_error *err);
int cay_xml_end(const struct cay_xml *x, struct cay_error *err); /* -1: it ends in the middle */
