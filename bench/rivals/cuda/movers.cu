// Families that move memory, by plain CUDA C++ as a good programmer writes it in an hour; and the driver's own copy.
#include "rival.cuh"

static __global__ void copy_four(const uint4* in, uint4* out, size_t n) {  // four loads under way for each thread
  size_t base = blockIdx.x * (size_t)blockDim.x * 4 + threadIdx.x;
  uint4 v[4];
#pragma unroll
  for (int k = 0; k < 4; k++) if (base + k * blockDim.x < n) v[k] = in[base + k * blockDim.x];
#pragma unroll
  for (int k = 0; k < 4; k++) if (base + k * blockDim.x < n) out[base + k * blockDim.x] = v[k];
}
static void copy() {
  tool("CUDA C++", toolkit());
  for (int exponent : {24, 28}) {
    size_t n = (size_t)1 << exponent, k = rotation(8.0 * n);
    Ring<u32> in(k, n), out(k, n);
    random(in, 1);
    std::string label = "2^" + std::to_string(exponent) + " u32";
    auto check = [&] {
      const u32 *a = in[0], *b = out[0];
      return wrong(n, [=] __device__(size_t i) { return a[i] == b[i]; });
    };
    rival("copy", label, "cudaMemcpyAsync", "every word with the input's",
          [&](size_t i) { CHECK(cudaMemcpyAsync(out[i], in[i], 4 * n, cudaMemcpyDeviceToDevice)); }, check);
    out.poison();
    rival("copy", label, "CUDA C++, four uint4 a thread", "every word with the input's",
          [&](size_t i) { copy_four<<<blocks(n / 4, 1024), 256>>>((uint4*)in[i], (uint4*)out[i], n / 4); }, check);
  }
}
static Part copy_part("copy", copy);

static __global__ void add_vectors(const float4* a, const float4* b, float4* c, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
}
__device__ inline u32 four(const u8* table, u32 v) {
  return table[v & 255] | table[v >> 8 & 255] << 8 | table[v >> 16 & 255] << 16 | (u32)table[v >> 24] << 24;
}
static __global__ void table_shared(const uint4* in, uint4* out, const u8* table, size_t n) {  // 16 samples a thread
  __shared__ u8 own[256];
  own[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    uint4 v = in[i];
    out[i] = make_uint4(four(own, v.x), four(own, v.y), four(own, v.z), four(own, v.w));
  }
}
__host__ __device__ inline u32 gray(u32 r, u32 g, u32 b) { return (2126 * r + 7152 * g + 722 * b + 5000) / 10000; }
static __global__ void gray_words(const u32* rgb, u32* out, size_t n) {  // three words make one
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) {
    u32 a = rgb[3 * i], b = rgb[3 * i + 1], c = rgb[3 * i + 2];
    out[i] = gray(a & 255, a >> 8 & 255, a >> 16 & 255) | gray(a >> 24, b & 255, b >> 8 & 255) << 8 |
             gray(b >> 16 & 255, b >> 24, c & 255) << 16 | gray(c >> 8 & 255, c >> 16 & 255, c >> 24) << 24;
  }
}
static void map() {
  tool("CUDA C++", toolkit());
  for (int exponent : {24, 28}) {
    size_t n = (size_t)1 << exponent;
    std::string power = "2^" + std::to_string(exponent);
    {
      size_t k = rotation(12.0 * n);
      Ring<float> a(k, n), b(k, n), c(k, n);
      random(a, 1);
      random(b, 100);
      rival("map/add", power + " f32", "CUDA C++, float4", "every sum, bit by bit",
            [&](size_t i) { add_vectors<<<blocks(n / 4, 256), 256>>>((float4*)a[i], (float4*)b[i], (float4*)c[i], n / 4); }, [&] {
              const float *x = a[0], *y = b[0], *z = c[0];
              return wrong(n, [=] __device__(size_t i) { return z[i] == x[i] + y[i]; });
            });
    }
    {
      size_t k = rotation(2.0 * n);
      Ring<u8> in(k, n), out(k, n), table(1, 256);
      random(in, 1);
      random(table, 9);
      rival("map/table-u8", power + " u8", "CUDA C++, uint4, table in shared memory", "every sample",
            [&](size_t i) { table_shared<<<blocks(n / 16, 256), 256>>>((uint4*)in[i], (uint4*)out[i], table[0], n / 16); }, [&] {
              const u8 *x = in[0], *y = out[0], *t = table[0];
              return wrong(n, [=] __device__(size_t i) { return y[i] == t[x[i]]; });
            });
    }
  }
  for (int exponent : {24, 26, 28}) {
    size_t n = (size_t)1 << exponent, k = rotation(4.0 * n);
    Ring<u8> in(k, 3 * n), out(k, n);
    random(in, 1);
    rival("map/gray", "2^" + std::to_string(exponent) + " px", "CUDA C++, 4 px a thread", "every pixel",
          [&](size_t i) { gray_words<<<blocks(n / 4, 256), 256>>>((u32*)in[i], (u32*)out[i], n / 4); }, [&] {
            const u8 *x = in[0], *y = out[0];
            return wrong(n, [=] __device__(size_t i) { return y[i] == gray(x[3 * i], x[3 * i + 1], x[3 * i + 2]); });
          });
  }
}
static Part map_part("map", map);

template <class T> static __global__ void transpose_tiles(const T* in, T* out, int n) {  // n is a multiple of 32
  __shared__ T tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(size_t)(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
template <class T> static void transpose_of(const char* kind) {
  for (int side : {4096, 16384}) {
    size_t n = (size_t)side * side, k = rotation(2.0 * sizeof(T) * n);
    Ring<T> in(k, n), out(k, n);
    random(in, 1);
    std::string label = std::to_string(side) + " × " + std::to_string(side) + " " + kind;
    rival(std::string("transpose/") + kind, label, "CUDA C++, tile of 32 × 33", "every element",
          [&](size_t i) { transpose_tiles<<<dim3(side / 32, side / 32), dim3(32, 8)>>>(in[i], out[i], side); }, [&] {
            const T *a = in[0], *b = out[0];
            size_t w = side;
            return wrong(n, [=] __device__(size_t i) { return b[i] == a[i % w * w + i / w]; });
          });
  }
}
static void transpose() {
  tool("CUDA C++", toolkit());
  transpose_of<u8>("u8");
  transpose_of<u32>("u32");
}
static Part transpose_part("transpose", transpose);

template <class T> static __global__ void stitch_pixels(T* out, int width, const T* pattern, int side) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < width) out[(size_t)y * width + x] = pattern[y % side * side + x % side];
}
template <class T> static void stitch_of(const char* kind, int width) {
  size_t n = (size_t)width * width;
  Ring<T> out(1, n), pattern(1, 1000 * 1000);
  random(pattern, 3);
  for (int side : {16, 100, 128, 1000}) {
    std::string w = std::to_string(width), label = std::to_string(side) + "² over " + w + " × " + w + " " + kind;
    out.poison();
    rival(std::string("repeat/") + kind, label, "CUDA C++, a modulo for each pixel", "every pixel",
          [&](size_t) { stitch_pixels<<<dim3(blocks(width, 32), blocks(width, 8)), dim3(32, 8)>>>(out[0], width, pattern[0], side); }, [&] {
            const T *a = pattern[0], *b = out[0];
            size_t w = width, s = side;
            return wrong(n, [=] __device__(size_t i) { return b[i] == a[i / w % s * s + i % w % s]; });
          });
  }
}
static void stitch() {
  tool("CUDA C++", toolkit());
  stitch_of<float>("f32", 10240);
  stitch_of<u8>("u8", 32768);
}
static Part stitch_part("stitch", stitch);

// Copies of the pattern at i·u + j·v; the mean of the bytes other than 0 over a pixel, rounded.
struct Vectors { int ux, uy, vx, vy; };
static __global__ void lattice_pixels(u8* out, int width, const u8* pattern, int side, Vectors l) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= width) return;
  float inverse = 1.0f / (float)(l.ux * l.vy - l.uy * l.vx);
  float i0 = 1e30f, i1 = -1e30f, j0 = 1e30f, j1 = -1e30f;
#pragma unroll
  for (int corner = 0; corner < 4; corner++) {  // of the square of places where a copy that reaches this pixel begins
    float cx = (float)(x - (corner & 1 ? side - 1 : 0)), cy = (float)(y - (corner & 2 ? side - 1 : 0));
    float i = (l.vy * cx - l.vx * cy) * inverse, j = (l.ux * cy - l.uy * cx) * inverse;
    i0 = fminf(i0, i); i1 = fmaxf(i1, i); j0 = fminf(j0, j); j1 = fmaxf(j1, j);
  }
  int sum = 0, count = 0;
  for (int i = (int)floorf(i0); i <= (int)ceilf(i1); i++)
    for (int j = (int)floorf(j0); j <= (int)ceilf(j1); j++) {
      int px = x - (i * l.ux + j * l.vx), py = y - (i * l.uy + j * l.vy);
      if (px < 0 || px >= side || py < 0 || py >= side) continue;
      int v = pattern[py * side + px];
      if (v != 0) { sum += v; count++; }
    }
  out[(size_t)y * width + x] = count ? (2 * sum + count) / (2 * count) : 0;
}
static void lattice() {
  tool("CUDA C++", toolkit());
  for (int width : {4096, 10240}) {
    const int side = 100;
    const Vectors l = {90, 20, -15, 85};
    size_t n = (size_t)width * width;
    Ring<u8> out(1, n), pattern(1, side * side);
    random(pattern, 4);
    std::string w = std::to_string(width);
    rival("lattice/mean-u8", w + " × " + w + ", 100 × 100 along (90, 20) and (-15, 85)", "CUDA C++, loop over the target",
          "every 509th pixel with all copies there are",
          [&](size_t) { lattice_pixels<<<dim3(blocks(width, 32), blocks(width, 8)), dim3(32, 8)>>>(out[0], width, pattern[0], side, l); }, [&] {
            const u8 *a = pattern[0], *b = out[0];
            return wrong(n / 509, [=] __device__(size_t place) {
              size_t at = place * 509;
              int x = at % width, y = at / width, sum = 0, count = 0;
              // (x, y) = i·u + j·v + (a place in the pattern): for each j, some i around (y − j·vy) / uy.
              for (int j = -40; j <= width / 40; j++) {
                int middle = (x - j * l.vx) / l.ux;
                for (int i = middle - 4; i <= middle + 4; i++) {
                  int px = x - (i * l.ux + j * l.vx), py = y - (i * l.uy + j * l.vy);
                  if (px < 0 || px >= side || py < 0 || py >= side || a[py * side + px] == 0) continue;
                  sum += a[py * side + px];
                  count++;
                }
              }
              return b[at] == (count ? (2 * sum + count) / (2 * count) : 0);
            });
          });
  }
}
static Part lattice_part("lattice", lattice);
