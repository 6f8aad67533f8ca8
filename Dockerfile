# Relief in a container. Nothing of a GPU is needed to build either image.
#
#     docker build --target cpu -t relief:cpu .
#     docker build --target cuda -t relief:cuda .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" relief:cpu render dots.kdl --output dots.png
#     docker run --rm --gpus all --user "$(id -u):$(id -g)" -v "$PWD:/work" relief:cuda devices
#
# `.ci/full docker` builds both and compares a digest.

ARG RUST=1.95
ARG CUDA=13.0
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

# What compiles kernels when they first run: NVRTC, and the headers that it reads. NVIDIA publishes both on PyPI, as wheels of one toolkit.
FROM docker.io/library/debian:${DEBIAN}-slim AS toolkit
ARG CUDA
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates python3-pip \
    && pip install --break-system-packages --no-cache-dir --no-compile --no-deps --only-binary :all: --target /wheels \
        "nvidia-cuda-nvrtc==$CUDA.*" "nvidia-cuda-runtime==$CUDA.*" "nvidia-cuda-crt==$CUDA.*" "nvidia-cuda-cccl==$CUDA.*"
RUN mkdir -p /out/cuda /out/doc \
    && mv /wheels/nvidia/cu*/include /wheels/nvidia/cu*/lib /out/cuda/ \
    && cp /wheels/nvidia_cuda_nvrtc-*.dist-info/licenses/License.txt /out/doc/ \
    # The second build of the compiler and the runtime, which Relief does not load.
    && rm -f /out/cuda/lib/*.alt.so.* /out/cuda/lib/libcudart* \
    && (cd /out/cuda/lib && ln -s libnvrtc.so.* libnvrtc.so) \
    && test -f /out/cuda/include/cuda_runtime.h \
    && test -f /out/cuda/include/crt/host_defines.h \
    && test -f /out/cuda/include/nv/target

# The driver's library comes from the host (`--gpus`).
FROM docker.io/library/debian:${DEBIAN}-slim AS cuda
COPY --from=toolkit /out/cuda /usr/local/cuda
# NVIDIA's files are under its licence, not under Relief's.
COPY --from=toolkit /out/doc /usr/share/doc/cuda
RUN echo /usr/local/cuda/lib > /etc/ld.so.conf.d/cuda.conf && ldconfig && ldconfig -p | grep -q libnvrtc.so
COPY --from=build-cuda /out/bin/relief /usr/local/bin/relief
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/relief/
# Compiled kernels are cached in /cache: mount a volume there.
ENV CUDA_PATH=/usr/local/cuda \
    RELIEF_KERNEL_CACHE=/cache \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN install -d -m 1777 /cache
WORKDIR /work
USER 65534:65534
ENTRYPOINT ["relief"]
