// N bodies: tiles in shared memory as in GPU Gems 3, and what a good programmer makes of them in an hour.
#include "rival.cuh"

// 1/√x without the guard against numbers below 2^-126.
__device__ inline float root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
template <bool GUARD> __device__ inline void pull(float4 self, float4 other, float softening, float3& sum) {
  float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
  float square = dx * dx + dy * dy + dz * dz + softening;
  float inverse = GUARD ? rsqrtf(square) : root(square);
  float weight = other.w * inverse * inverse * inverse;
  sum.x += weight * dx;
  sum.y += weight * dy;
  sum.z += weight * dz;
}
// Bodies gridDim.y at a time; a thread has EACH of them.
template <int EACH, bool GUARD> static __global__ void pull_tiles(const float4* bodies, float4* out, int n, float softening) {
  __shared__ float4 tile[256];
  int first = blockIdx.x * 256 * EACH + threadIdx.x, part = (n + gridDim.y - 1) / gridDim.y;
  int end = min(n, (int)(blockIdx.y + 1) * part);
  float4 own[EACH];
  float3 sum[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    own[k] = bodies[min(first + 256 * k, n - 1)];
    sum[k] = make_float3(0, 0, 0);
  }
  for (int start = blockIdx.y * part; start < end; start += 256) {
    int place = start + threadIdx.x;
    tile[threadIdx.x] = place < end ? bodies[place] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 16
    for (int j = 0; j < 256; j++)
#pragma unroll
      for (int k = 0; k < EACH; k++) pull<GUARD>(own[k], tile[j], softening, sum[k]);
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    int place = first + 256 * k;
    if (place >= n) continue;
    if (gridDim.y == 1) {
      out[place] = make_float4(sum[k].x, sum[k].y, sum[k].z, 0);
    } else {
      atomicAdd(&out[place].x, sum[k].x);
      atomicAdd(&out[place].y, sum[k].y);
      atomicAdd(&out[place].z, sum[k].z);
    }
  }
}
static void nbody() {
  tool("CUDA C++", toolkit());
  const float softening = 1e-4f;
  struct Size { int n; const char* label; };
  for (Size size : {Size{16128, "16 128 bodies"}, Size{65536, "2^16 bodies"}}) {
    int n = size.n;
    // A megabyte that is read 65 536 times: it lies in the cache whatever is used in turn.
    Ring<float> in(1, 4 * (size_t)n), out(1, 4 * (size_t)n);
    random(in, 7);
    float* masses = in[0];
    each(n, [=] __device__(size_t i) { masses[4 * i + 3] *= 2.0f / n; });
    const float4* bodies = (const float4*)in[0];
    float4* pulls = (float4*)out[0];
    auto check = [=] {
      return wrong(n / 61, [=] __device__(size_t place) {
        float4 self = bodies[place * 61], found = pulls[place * 61];
        double x = 0, y = 0, z = 0;
        for (int j = 0; j < n; j++) {
          float4 other = bodies[j];
          double dx = (double)other.x - self.x, dy = (double)other.y - self.y, dz = (double)other.z - self.z;
          double square = dx * dx + dy * dy + dz * dz + 1e-4, weight = other.w / (square * sqrt(square));
          x += weight * dx;
          y += weight * dy;
          z += weight * dz;
        }
        double most = 1e-4 * fmax(1.0, sqrt(x * x + y * y + z * z));
        return fabs(found.x - x) <= most && fabs(found.y - y) <= most && fabs(found.z - z) <= most;
      });
    };
    const char* how = "every 61st body in f64, by 10^-4";
    rival("nbody", size.label, "CUDA C++, tiles of 256", how,
          [=](size_t) { pull_tiles<1, true><<<blocks(n, 256), 256>>>(bodies, pulls, n, softening); }, check);
    out.poison();
    rival("nbody", size.label, "CUDA C++, split by 16", how,
          [=](size_t) {
            CHECK(cudaMemsetAsync(pulls, 0, 16 * (size_t)n));
            pull_tiles<2, false><<<dim3(blocks(n, 512), 16), 256>>>(bodies, pulls, n, softening);
          },
          check);
  }
}
static Part nbody_part("nbody", nbody);
