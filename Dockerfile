# Relief in a container. Nothing of a GPU is needed to build either image.
#
#     docker build --target cpu -t relief:cpu .
#     docker build --target cuda -t relief:cuda .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" relief:cpu render dots.kdl --output dots.png
#     docker run --rm --gpus all --user "$(id -u):$(id -g)" -v "$PWD:/work" relief:cuda devices
#
# `.ci/full docker` builds both and compares a digest.

ARG RUST=1.95
ARG CUDA=13.0.1
ARG DEBIAN=bookworm

# The compiler's glibc is no newer than that of the images below.
FROM docker.io/library/rust:${RUST}-slim-${DEBIAN} AS sources
WORKDIR /relief
COPY . .

FROM sources AS build-cpu
RUN cargo install --locked --path crates/relief --no-default-features --features view --root /out

FROM sources AS build-cuda
RUN cargo install --locked --path crates/relief --no-default-features --features cuda,view --root /out

FROM docker.io/library/debian:${DEBIAN}-slim AS cpu
COPY --from=build-cpu /out/bin/relief /usr/local/bin/relief
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/relief/
WORKDIR /work
# Files are those of `--user`; without it of nobody.
USER 65534:65534
ENTRYPOINT ["relief"]

# The driver's library comes from the host (`--gpus`). Kernels are compiled when they first run, by NVRTC, which reads headers of the toolkit.
FROM docker.io/nvidia/cuda:${CUDA}-base-ubuntu24.04 AS cuda
ARG CUDA
RUN version="$(echo "$CUDA" | cut -d. -f1-2 | tr . -)" \
    && apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        "cuda-nvrtc-$version" "cuda-cudart-dev-$version" "cuda-crt-$version" "cuda-cccl-$version" \
    && rm -rf /var/lib/apt/lists/* \
    && test -f /usr/local/cuda/include/cuda_runtime.h \
    && test -f /usr/local/cuda/include/crt/host_defines.h
COPY --from=build-cuda /out/bin/relief /usr/local/bin/relief
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/relief/
# Compiled kernels: keep them by a volume at /cache.
ENV CUDA_PATH=/usr/local/cuda \
    RELIEF_KERNEL_CACHE=/cache \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN install -d -m 1777 /cache
WORKDIR /work
USER 65534:65534
ENTRYPOINT ["relief"]
