// Means and least of wide squares of f32 in one pass that keep the rows of a window in shared memory, by warps of two kinds: some go down columns, the others along
// the rows that these have left, a step behind. With what CUDA C++ has and CubeCL 0.10 has not: requests that only fill the second cache.
//
// The rows of a window leave 28 KB of a multiprocessor to its nearest cache, and rows of a step on their way are 16 KB of them: to ask for more rows by loads makes it slower,
// whatever waits for them. Requests that fill the second cache alone take nothing of the nearest.
// For pictures whose width is a multiple of 32.
#include "rival.cuh"

enum Fold { SUM, LEAST };
template <int F> __device__ __forceinline__ float fold(float a, float b) { return F == SUM ? a + b : fminf(a, b); }
template <int F> __device__ __forceinline__ float neutral() { return F == SUM ? 0.0f : __int_as_float(0x7f800000); }

template <int R> struct Wide {
  static const int ROWS = 8, BLOCK = 2 * R / ROWS, REST = 2 * R % ROWS, RING = 2 * R;     // steps of a block of ends, rows that are left, rows that are kept
  static const int RUNS = 2 * R / 16, LEFT = 2 * R % 16;                                  // runs of 16 columns across, columns that are left
  static const int MARGIN = (R + 7) / 8 * 8, SKIP = MARGIN - R;                           // columns to the left: whole sectors
  static const int COMPUTED = 24, COLUMNS = 16 * COMPUTED, WIDTH = MARGIN + COLUMNS + R;  // runs and columns of a block of threads, columns that it reads
  static const int APART = ((WIDTH + 15) / 16 + 5) / 8 * 8 + 2, TOLD = ROWS * 16 * APART; // quads from one of a run to the next, floats that a step tells
  static const int DOWN = (WIDTH + 31) / 32, THREADS = 32 * (DOWN + ROWS);
  static const int BYTES = 4 * (2 * TOLD + RING * WIDTH);
};

template <int R, int F, bool AHEAD>
__global__ void __launch_bounds__(Wide<R>::THREADS, 1) wide(const float* __restrict__ from, float* __restrict__ to, int width, int height, int steps, float inverse) {
  typedef Wide<R> W;
  extern __shared__ __align__(128) float memory[];
  float *const told = memory, *const ring = memory + 2 * W::TOLD;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, x0 = blockIdx.x * W::COLUMNS, y0 = blockIdx.y * steps * W::ROWS;
  if (warp < W::DOWN) {
    const int column = threadIdx.x, x = min(max(x0 - W::MARGIN + column, 0), width - 1);
    const bool reads = column < W::WIDTH;
    float* const mine = ring + column;
    const int spot = ((column / 4) % 4 * W::APART + column / 16) * 4 + column % 4;
    auto wrap = [](int slot) { return slot >= W::RING ? slot - W::RING : slot; };
    auto at = [&](int y) { return from[(size_t)min(max(y, 0), height - 1) * width + x]; };
    float next[W::ROWS], begun = 0, end = 0, entered = neutral<F>();
    int y = y0 - R, first = 0, left = 0;
    auto load = [&] {
      if (y >= 0 && y + W::ROWS <= height) {
        const float* row = from + (size_t)y * width + x;
        #pragma unroll
        for (int k = 0; k < W::ROWS; k++) next[k] = row[(size_t)k * width];
      } else {
        #pragma unroll
        for (int k = 0; k < W::ROWS; k++) next[k] = at(y + k);
      }
      y += W::ROWS;
    };
    auto down = [&](float* out) {
      float enters[W::ROWS], leaves[W::ROWS], ends[W::ROWS];
      #pragma unroll
      for (int k = 0; k < W::ROWS; k++) enters[k] = next[k];
      load();
      if (left == 0) {
        // The ends of a block, the last first, each in the place of a step's total.
        begun = entered, end = neutral<F>();
        int slot = wrap(first + (W::BLOCK - 1) * W::ROWS);
        #pragma unroll 4
        for (int k = 0; k < W::BLOCK; k++) {
          end = fold<F>(end, mine[slot * W::WIDTH]);
          mine[slot * W::WIDTH] = end;
          slot -= W::ROWS;
          if (slot < 0) slot += W::RING;
        }
      }
      const bool last = left == W::BLOCK - 1;
      #pragma unroll
      for (int k = 1; k < W::ROWS; k++) leaves[k] = mine[(wrap(first + k / 2 * 2) + k % 2) * W::WIDTH];
      const float after = last ? neutral<F>() : mine[wrap(first + W::ROWS) * W::WIDTH];
      #pragma unroll
      for (int k = 0; k < W::ROWS; k++) mine[(wrap(first + k / 2 * 2) + k % 2) * W::WIDTH] = enters[k];
      float so_far = after;
      #pragma unroll
      for (int k = W::ROWS - 1; k > 0; k--) ends[k] = so_far = fold<F>(so_far, leaves[k]);
      ends[0] = end, end = after;
      float total = entered, more = neutral<F>();
      #pragma unroll
      for (int k = 0; k < W::ROWS; k++) {
        if (k < W::ROWS - W::REST) total = fold<F>(total, enters[k]);
        else more = fold<F>(more, enters[k]);
      }
      mine[wrap(first + W::BLOCK * W::ROWS) * W::WIDTH] = total;
      entered = more;
      #pragma unroll
      for (int k = 0; k < W::ROWS; k++) {
        begun = fold<F>(begun, enters[k]);
        out[k * 16 * W::APART + spot] = fold<F>(ends[k], begun);
      }
      first = wrap(first + W::ROWS), left = last ? 0 : left + 1;
    };
    if (reads) {
      for (int step = 0; step < W::BLOCK; step++) {
        load();
        float total = next[0];
        #pragma unroll
        for (int k = 1; k < W::ROWS; k++) total = fold<F>(total, next[k]), mine[(step * W::ROWS + k) * W::WIDTH] = next[k];
        mine[step * W::ROWS * W::WIDTH] = total;
      }
      for (int k = 0; k < W::REST; k++) entered = fold<F>(entered, mine[(W::BLOCK * W::ROWS + k) * W::WIDTH] = at(y + k));
      y += W::REST;
      load();
    }
    for (int s = 0; s < steps; s++) {
      if (reads) down(told + s % 2 * W::TOLD);
      __syncthreads();
    }
    __syncthreads();
    return;
  }
  // A row each, 16 columns a thread.
  const int row = warp - W::DOWN;
  const bool odd = lane & 1;
  __syncthreads();
  for (int s = 0; s < steps; s++) {
    const float4* quads = (const float4*)(told + s % 2 * W::TOLD) + row * 4 * W::APART;
    const int FIRST = W::SKIP / 4, OFF = W::SKIP % 4;
    float a[16], b[16 + W::LEFT];
    #pragma unroll
    for (int i = 0; i < (OFF + 16 + 3) / 4; i++) {
      float4 quad = quads[(FIRST + i) % 4 * W::APART + (FIRST + i) / 4 + min(lane, W::APART - 2)];
      float q[4] = {quad.x, quad.y, quad.z, quad.w};
      #pragma unroll
      for (int c = 0; c < 4; c++)
        if (4 * i + c >= OFF && 4 * i + c - OFF < 16) a[4 * i + c - OFF] = q[c];
    }
    #pragma unroll
    for (int i = 0; i < (OFF + 16 + W::LEFT + 3) / 4; i++) {
      float4 quad = quads[(FIRST + i) % 4 * W::APART + (FIRST + i) / 4 + min(lane + W::RUNS, W::APART - 2)];
      float q[4] = {quad.x, quad.y, quad.z, quad.w};
      #pragma unroll
      for (int c = 0; c < 4; c++)
        if (4 * i + c >= OFF && 4 * i + c - OFF < 16 + W::LEFT) b[4 * i + c - OFF] = q[c];
    }
    // Two steps ahead of those that load, a line of 128 bytes for every other thread.
    if (AHEAD && !odd) {
      const float* line = from + (size_t)min(y0 + (s + 3) * W::ROWS + R + row, height - 1) * width + min(max(x0 - W::MARGIN + lane * 16, 0), width - 1);
      asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
    }
    #pragma unroll
    for (int p = 14; p >= 0; p--) a[p] = fold<F>(a[p], a[p + 1]);
    float so_far = neutral<F>();
    #pragma unroll
    for (int k = 1; k < W::RUNS; k++) so_far = fold<F>(so_far, __shfl_down_sync(~0u, a[0], k));
    #pragma unroll
    for (int p = 0; p < 16 + W::LEFT; p++) {
      so_far = fold<F>(so_far, b[p]);
      if (p >= W::LEFT) {
        a[p - W::LEFT] = fold<F>(a[p - W::LEFT], so_far);
        if (F == SUM) a[p - W::LEFT] *= inverse;
      }
    }
    // Neighbours exchange every other quad, so that a store writes whole sectors.
    float even_run[8], odd_run[8];
    #pragma unroll
    for (int c = 0; c < 8; c++) {
      const int near = c / 4 * 8 + c % 4, far = near + 4;
      float got = __shfl_xor_sync(~0u, odd ? a[near] : a[far], 1);
      even_run[c] = odd ? got : a[near], odd_run[c] = odd ? a[far] : got;
    }
    const int y = y0 + s * W::ROWS + row;
    if (y < height && lane < W::COMPUTED && x0 + lane * 16 < width) {
      float* out = to + (size_t)y * width + x0 + lane / 2 * 32 + (odd ? 4 : 0);
      #pragma unroll
      for (int h = 0; h < 2; h++) {
        *(float4*)(out + 8 * h) = make_float4(even_run[4 * h], even_run[4 * h + 1], even_run[4 * h + 2], even_run[4 * h + 3]);
        *(float4*)(out + 16 + 8 * h) = make_float4(odd_run[4 * h], odd_run[4 * h + 1], odd_run[4 * h + 2], odd_run[4 * h + 3]);
      }
    }
    __syncthreads();
  }
}

template <int R, int F, bool AHEAD> static void widely(int side) {
  typedef Wide<R> W;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  int across = (side + W::COLUMNS - 1) / W::COLUMNS, strips = std::max(1, properties.multiProcessorCount / across);
  int steps = ((side + strips - 1) / strips + W::ROWS - 1) / W::ROWS;
  size_t n = (size_t)side * side;
  Ring<float> in(2, n), out(2, n);
  random(in, 7);
  std::string s = std::to_string(side), r = std::to_string(R);
  const float inverse = 1.0f / ((2 * R + 1) * (2 * R + 1));
  rival(F == SUM ? "stencil/box-f32" : "stencil/erosion-f32", s + " × " + s + (F == SUM ? " f32, r = " : " f32, least, r = ") + r,
        AHEAD ? "CUDA C++, rows kept, second cache filled ahead" : "CUDA C++, rows kept, two kinds of warps", "every 30011th pixel with all of its square",
        [&](size_t k) {
          if ((size_t)W::BYTES > properties.sharedMemPerBlockOptin) throw std::runtime_error("too little shared memory");
          CHECK(cudaFuncSetAttribute(wide<R, F, AHEAD>, cudaFuncAttributeMaxDynamicSharedMemorySize, W::BYTES));
          wide<R, F, AHEAD><<<dim3(across, strips), W::THREADS, W::BYTES>>>(in[k], out[k], side, side, steps, inverse);
        },
        [&] {
          const float *source = in[0], *result = out[0];
          return wrong(n / 30011, [=] __device__(size_t place) {
            size_t at = place * 30011;
            int x = at % side, y = at / side;
            double found = F == SUM ? 0 : 1e30;
            for (int py = y - R; py <= y + R; py++)
              for (int px = x - R; px <= x + R; px++) {
                double v = source[(size_t)min(max(py, 0), side - 1) * side + min(max(px, 0), side - 1)];
                found = F == SUM ? found + v * inverse : min(found, v);
              }
            return F == SUM ? fabs(result[at] - found) < 2e-5 : (double)result[at] == found;
          });
        });
}
static void wide_squares() {
  tool("CUDA C++", toolkit());
  widely<50, SUM, false>(16384);
  widely<50, SUM, true>(16384);
  widely<50, LEAST, false>(16384);
  widely<50, LEAST, true>(16384);
}
static Part wide_part("wide", wide_squares);
