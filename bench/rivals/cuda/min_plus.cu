// Min-plus products by CUDA C++: operands padded and the left one transposed, tiles of 128 × 128, 8 × 8 results a thread, three slices of 16 rows
// in shared memory, filled by asynchronous copies. What our own kernel does by way of registers, with what CUDA C++ has for it.
#include "rival.cuh"

#include <type_traits>

const int TILE = 128, DEPTH = 16, STAGES = 3, SIDE = 32, LINES = 8;

enum Step { FLOATS, BITS, INTEGERS };
// What stands for no path in padding: +∞, or what no sum of lengths reaches.
template <class T> __host__ __device__ inline T none() {
  if constexpr (std::is_same<T, float>::value) return 1.0f / 0.0f;
  else return (1 << 30) - 1;
}

// The operand, or its transpose, with sides that are multiples of a tile's.
template <bool TURN, class T> static __global__ void padded(const T* in, T* out, int n, int side) {
  __shared__ T tile[SIDE][SIDE + 1];
  int x = blockIdx.x * SIDE + threadIdx.x, top = blockIdx.y * SIDE;
  for (int line = threadIdx.y; line < SIDE; line += LINES) {
    int y = top + line;
    T value = x < n && y < n ? in[(size_t)y * n + x] : none<T>();
    if (TURN) tile[line][threadIdx.x] = value;
    else out[(size_t)y * side + x] = value;
  }
  if (!TURN) return;
  __syncthreads();
  for (int line = threadIdx.y; line < SIDE; line += LINES)
    out[(size_t)(blockIdx.x * SIDE + line) * side + top + threadIdx.x] = tile[threadIdx.x][line];
}

__device__ inline void copy_ahead(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ inline void end_of_stage() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ inline void wait_for_oldest() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

// Four numbers at a place, and the same far half of the tile on.
template <class T> __device__ inline void eight(T (&to)[8], const T* row, int place) {
  *(int4*)&to[0] = *(const int4*)&row[place * 4];
  *(int4*)&to[4] = *(const int4*)&row[TILE / 2 + place * 4];
}

template <Step STEP, class T>
static __global__ void __launch_bounds__(256, 2) product(const T* left, const T* right, T* out, int n, int side) {
  __shared__ __align__(16) T slices[STAGES][2][DEPTH][TILE];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  T least[8][8];
#pragma unroll
  for (int i = 0; i < 64; i++) least[i / 8][i % 8] = none<T>();

  // Eight lines of a slice at a time, half of it.
  const int line = threadIdx.x / 32, column = threadIdx.x % 32 * 4;
  const T* from_left = left + (size_t)line * side + blockIdx.y * TILE + column;
  const T* from_right = right + (size_t)line * side + blockIdx.x * TILE + column;
  const int count = (n + DEPTH - 1) / DEPTH;
  auto ask = [&](int stage, int slice) {
    if (slice < count) {
#pragma unroll
      for (int half = 0; half < DEPTH; half += 8) {
        size_t row = (size_t)(slice * DEPTH + half) * side;
        copy_ahead(&slices[stage][0][line + half][column], from_left + row);
        copy_ahead(&slices[stage][1][line + half][column], from_right + row);
      }
    }
    end_of_stage();
  };
  for (int slice = 0; slice < STAGES - 1; slice++) ask(slice, slice);
  for (int slice = 0; slice < count; slice++) {
    wait_for_oldest();
    __syncthreads();
    ask((slice + STAGES - 1) % STAGES, slice + STAGES - 1);
    const auto& now = slices[slice % STAGES];
    constexpr int AT_ONCE = STEP == BITS ? 2 : 1;
#pragma unroll
    for (int k = 0; k < DEPTH; k += AT_ONCE) {
      T a[AT_ONCE][8], b[AT_ONCE][8];
#pragma unroll
      for (int q = 0; q < AT_ONCE; q++) {
        eight(a[q], now[0][k + q], y);
        eight(b[q], now[1][k + q], x);
      }
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
          if constexpr (STEP == BITS) {
            int one = __float_as_int(a[0][i] + b[0][j]), other = __float_as_int(a[1][i] + b[1][j]);
            least[i][j] = __int_as_float(min(min(one, other), __float_as_int(least[i][j])));
          } else if constexpr (STEP == FLOATS) {
            least[i][j] = fminf(least[i][j], a[0][i] + b[0][j]);
          } else {
            least[i][j] = min(least[i][j], a[0][i] + b[0][j]);
          }
        }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) {
      int row = blockIdx.y * TILE + i / 4 * TILE / 2 + y * 4 + i % 4, place = blockIdx.x * TILE + j / 4 * TILE / 2 + x * 4 + j % 4;
      if (row < n && place < n) out[(size_t)row * n + place] = least[i][j];
    }
}

template <Step STEP, class T> static void measured(const char* ladder, const char* kind, const char* name, int n, Ring<T>& a, Ring<T>& b) {
  int side = (n + TILE - 1) / TILE * TILE;
  size_t words = (size_t)side * side;
  // A call passes over five matrices of 64 MB and more: nothing of the last one is left in a cache.
  Ring<T> left(1, words), right(1, words), out(1, (size_t)n * n);
  std::string digits = std::to_string(n);
  std::string text = n == 16384 ? "2^14" : n == 4096 ? "2^12" : digits.size() > 3 ? digits.substr(0, digits.size() - 3) + " " + digits.substr(digits.size() - 3) : digits;
  rival(ladder, text + " × " + text + " " + kind, name, "64 rows, by the definition",
        [&](size_t) {
          dim3 grid(side / SIDE, side / SIDE), threads(SIDE, LINES), tiles(side / TILE, side / TILE);
          padded<true><<<grid, threads>>>(a[0], left[0], n, side);
          padded<false><<<grid, threads>>>(b[0], right[0], n, side);
          product<STEP><<<tiles, 256>>>(left[0], right[0], out[0], n, side);
        },
        [&] {
          const T *x = a[0], *y = b[0], *z = out[0];
          return wrong((size_t)64 * n, [=] __device__(size_t at) {
            size_t row = at / n * (n / 64), column = at % n;
            T least = none<T>();
            for (size_t k = 0; k < n; k++) {
              T sum = x[row * n + k] + y[k * n + column];
              least = sum < least ? sum : least;
            }
            return z[row * n + column] == least;
          });
        });
}

static void min_plus() {
  tool("CUDA C++", toolkit());
  for (int n : {4096, 6300, 16384}) {
    size_t count = (size_t)n * n;
    {
      Ring<float> a(1, count), b(1, count);
      random(a, 1);
      random(b, 2);
      const char* ladder = "min-plus/f32-non-negative";
      measured<BITS>(ladder, "f32", "CUDA C++, three-way minima of bits", n, a, b);
      measured<FLOATS>(ladder, "f32", "CUDA C++, minima of floats", n, a, b);
      for (float* p : {a[0], b[0]}) each(count, [=] __device__(size_t i) { p[i] -= 0.5f; });
      measured<FLOATS>("min-plus/f32", "f32", "CUDA C++, minima of floats", n, a, b);
    }
    Ring<int> a(1, count), b(1, count);
    for (int* p : {a[0], b[0]}) each(count, [=] __device__(size_t i) { p[i] = (int)(mixed((u32)i, 3) >> 5) - (1 << 26); });
    measured<INTEGERS>("min-plus/i32", "i32", "CUDA C++, without saturation", n, a, b);
  }
}
static Part min_plus_part("min_plus", min_plus);
