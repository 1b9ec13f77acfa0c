/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .dockerignore and a path: the first line is the path, the rest the file. What it says of a folder holds for
 * what is below it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/must.h"
#include "cay-docker/build_ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        const uint8_t *line = memchr(bytes, '\n', size);
        struct docker_ignore ig;
        struct cay_error err = { 0 };
        char path[512];
        size_t len = line ? (size_t)(line - bytes) : size;
        bool first;

        if (len >= sizeof(path) - 8 || size > 8192)
                return 0;
        memcpy(path, bytes, len);
        path[len] = '\0';
        if (!line || docker_ignore_parse(&ig, (const char *)line + 1, size - len - 1, &err) < 0)
                return 0;
        for (unsigned i = 0; i < ig.count; i++)
                must(ig.rows[i].pattern[0] != '\0' && ig.rows[i].pattern[0] != '/');
        first = docker_ignore_has(&ig, path);
        must(first == docker_ignore_has(&ig, path));
        if (first && !ig.has_exceptions) {
                memcpy(path + strlen(path), "/b", 3);
                must(docker_ignore_has(&ig, path));
        }
        docker_ignore_done(&ig);
        return 0;
}
