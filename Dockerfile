# SPDX-License-Identifier: Apache-2.0
# An image that serves sandboxes, made from these sources:
#
#   docker build -t cay .
#   docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined \
#              -e PORT=8001 -p 127.0.0.1:8001:8001 -v cay:/data cay
#
# What the options are for, and which variables there are: docs/deployment.md. The second stage is packaging/Containerfile's.
# --build-arg BASE=… takes another Debian 12: one with more programs for sandboxes, or a copy of your own.
ARG BASE=debian:12-slim
FROM ${BASE} AS build

RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make
COPY . /src
RUN make -C /src deb

FROM ${BASE}

COPY --from=build /src/build/deb/cay_*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /tmp/cay_*.deb \
 && rm -rf /tmp/cay_*.deb /var/lib/apt/lists/* \
 && install -d -m 0700 -o 1000 -g 1000 /data

ENV CAY_DATA=/data HOST=0.0.0.0 PORT=8888 SANDBOX_TRUSTED_HOSTS=localhost
USER 1000:1000
VOLUME /data
EXPOSE 8888
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s CMD ["/usr/bin/cay", "api", "health_ready"]
ENTRYPOINT ["/usr/bin/cay", "serve"]
