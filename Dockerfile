# syntax=docker/dockerfile:1

# Chairlift with its embedded model:
#
#   docker build -t chairlift .
#   docker run --init --rm -p 8000:8000 chairlift
#
# Another model comes in as a volume, flags as environment variables (CHAIRLIFT_ and the flag's
# name); a volume for the cache keeps built models from one container to the next:
#
#   docker run --init --rm -p 8000:8000 \
#     -v /path/to/model:/model:ro -e CHAIRLIFT_MODEL=/model \
#     -v chairlift-cache:/var/cache/chairlift chairlift
#
# Give a stop more time than the longest generation takes (docker stop --time).
#
# `--build-arg ROOT=bones` makes a smaller image: Node.js and the libraries that it needs, without a
# shell and Debian's programs. `--build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:...` pins what both
# are made from.

# What the image starts from: `debian` or `bones`.
ARG ROOT=debian
# Not Alpine: ONNX Runtime needs glibc.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS base
# onnxruntime-node's install script would download CUDA libraries.
ENV ONNXRUNTIME_NODE_INSTALL=skip
WORKDIR /app

FROM base AS build
COPY package.json package-lock.json .npmrc tsconfig.json ./
COPY scripts/setup.mjs scripts/built-from.mjs scripts/
COPY src src
COPY web web
RUN --mount=type=cache,target=/root/.npm node scripts/setup.mjs build

FROM base AS dependencies
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev
# onnxruntime-node brings the libraries of all platforms, 290 MB; one is enough.
RUN cd node_modules/onnxruntime-node/bin/napi-v6 \
    && rm -rf darwin win32 \
    && find linux -mindepth 1 -maxdepth 1 ! -name "$(node -p process.arch)" -exec rm -rf {} +
COPY scripts/sbom.mjs scripts/
RUN node scripts/sbom.mjs > sbom.cdx.json

FROM base AS app
COPY package.json LICENSE ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
COPY models/summit models/summit
COPY native/prebuilt native/prebuilt
COPY --from=build /app/dist dist
# What is for compilers and debuggers goes. The embedded model is there already built, for CPUs like this
# one, so that a container without a volume need not write anything.
RUN find dist node_modules -type f \( -name '*.ts' -o -name '*.[cm]ts' -o -name '*.map' \) -delete \
    && CHAIRLIFT_CACHE=/cache node dist/cli/main.js build

# The system's libraries that programs here are linked with, wherever they are, and who owns what.
FROM app AS gathered
RUN mkdir -p -m 1777 /bones/tmp \
    && ldd /usr/local/bin/node $(find node_modules -name '*.node' -o -name 'libonnxruntime.so*') \
       | awk '$3 ~ "^/" { print $3 } $1 ~ "^/" && $1 !~ ":$" { print $1 }' | sort -u \
       | xargs cp --parents --dereference -t /bones \
    && cp --parents /usr/local/bin/node /etc/passwd /etc/group /bones

# Programs that install others are of no use to a server, but to an intruder.
FROM base AS debian
RUN rm -rf /usr/local/lib/node_modules /opt/yarn-* \
    && cd /usr/local/bin && rm -f npm npx corepack yarn yarnpkg

FROM scratch AS bones
COPY --from=gathered /bones /
ENV PATH=/usr/local/bin
WORKDIR /app

FROM ${ROOT}
LABEL org.opencontainers.image.title="Chairlift" \
      org.opencontainers.image.description="A continuous-batching token server for ONNX language models" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production \
    CHAIRLIFT_HOST=0.0.0.0 \
    CHAIRLIFT_CACHE=/var/cache/chairlift
COPY --from=app /app ./
# OpenShift's users have any id, and the group 0.
COPY --from=app --chown=1000:0 --chmod=775 /cache /var/cache/chairlift
# The user `node`, by number: Kubernetes sees that it is not root.
USER 1000:1000
EXPOSE 8000
STOPSIGNAL SIGTERM
# Fails only for what a restart helps, not while a model is loaded.
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s \
    CMD ["node", "dist/cli/main.js", "probe"]
CMD ["node", "dist/cli/main.js", "serve"]
