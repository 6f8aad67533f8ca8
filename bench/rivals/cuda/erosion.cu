// Erosions of bytes in one pass that keep the rows of a window in shared memory: an earlier form of the plan of crates/relief-numeric/src/stencil/gpu/extremes/kept.rs (ends of a
// block are folded row by row, and all warps meet at each step), with what CUDA C++ has and CubeCL 0.10 has not: groups of copies of a plane of threads, byte permutations, and
// a bound for registers of one block a multiprocessor.
// For pictures whose width is a multiple of 16.
#include "rival.cuh"

const int PAIRS = 4, ROWS = 2 * PAIRS;  // of rows of a step
const int SEGMENTS = 3;                 // warps beside each other across
const int AHEAD = 2;                    // steps whose rows are on their way

// Bytes as halves: subnormal numbers, two at a time.
__device__ __forceinline__ u32 least(u32 a, u32 b) {
  u32 out;
  asm("min.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
  return out;
}
__device__ __forceinline__ u32 least(u32 a, u32 b, u32 c) { return least(least(a, b), c); }
__device__ __forceinline__ u32 evens(u32 word) { return word & 0x00ff00ff; }
__device__ __forceinline__ u32 odds(u32 word) { return __byte_perm(word, 0, 0x4341); }
const u32 NEUTRAL = 0x00ff00ff;

template <int R> struct Shape {
  static const int BLOCK = 2 * R / ROWS, REST = 2 * R % ROWS;       // steps of a block of ends, and the rows that are left
  static const int LIVE = (2 * R + ROWS - 1) / ROWS + 1, RING = LIVE + AHEAD;
  static const int WARPS = SEGMENTS * PAIRS;
  static const int RUNS = 2 * R / 16, LEFT = 2 * R % 16;            // runs of 16 columns across, and the columns that are left
  static const int EACH = 33 - RUNS;                                // runs that a warp computes
  static const int MARGIN = (R + 15) / 16 * 16, QUAD = (MARGIN - R) / 4, SKIP = (MARGIN - R) % 4;
};

template <int R>
__global__ void __launch_bounds__(SEGMENTS* PAIRS * 32, 1) erode(const u8* __restrict__ from, u8* __restrict__ to, int width, int height,
                                                                 int steps, int runs, int reading, int apart) {
  typedef Shape<R> S;
  extern __shared__ __align__(128) u8 memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, step = PAIRS * 4 * apart;
  uint4* const pairs = (uint4*)memory;  // of two steps: of each pair of rows the quads of columns, by their number mod 4
  u8* const ring = memory + 2 * step * 16 + (size_t)warp * S::RING * ROWS * 128;
  const int x0 = blockIdx.x * runs * 16, y0 = blockIdx.y * steps * ROWS;
  const bool reads = warp < reading;

  // A warp copies 128 columns for itself.
  const int row_of = lane / 8, column = min(max(x0 - S::MARGIN + warp * 128 + lane % 8 * 16, 0), width - 16);
  const u32 place = (u32)__cvta_generic_to_shared(ring) + row_of * 128 + lane % 8 * 16;
  int next = y0 - R;
  auto copy = [&](int slot) {
    #pragma unroll
    for (int k = 0; k < ROWS; k += 4) {
      int y = min(max(next + k + row_of, 0), height - 1);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place + (slot * ROWS + k) * 128), "l"(from + (size_t)y * width + column));
    }
    asm volatile("cp.async.commit_group;");
    next += ROWS;
  };
  if (reads)
    for (int k = 0; k < S::LIVE - 1 + AHEAD; k++) copy(k);

  u32* const words = (u32*)ring + lane;
  int leave = 0, enter = S::BLOCK, free = S::RING - 1, left = 0;
  const int quad = warp * 32 + lane, spot = quad % 4 * apart + quad / 4;
  u32 begun[2] = {NEUTRAL, NEUTRAL}, end[2] = {0, 0};
  auto after = [](int slot) { return slot + 1 == S::RING ? 0 : slot + 1; };
  auto down = [&](uint4* out) {
    if (!reads) return;
    copy(free);
    free = after(free);
    asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory");
    __syncwarp();
    if (left == 0) {
      // The ends of the block, the last first, each in the place of an even row.
      u32 low = NEUTRAL, high = NEUTRAL;
      int slot = leave + S::BLOCK - 1;
      if (slot >= S::RING) slot -= S::RING;
      #pragma unroll 1
      for (int k = 0; k < S::BLOCK; k++) {
        u32 *row = words + slot * ROWS * 32, read[ROWS];
        #pragma unroll
        for (int i = 0; i < ROWS; i++) read[i] = row[i * 32];
        #pragma unroll
        for (int i = ROWS - 2; i >= 0; i -= 2) {
          low = least(low, evens(read[i]), evens(read[i + 1]));
          high = least(high, odds(read[i]), odds(read[i + 1]));
          row[i * 32] = low + high * 256;
        }
        slot = slot == 0 ? S::RING - 1 : slot - 1;
      }
      end[0] = low, end[1] = high, begun[0] = begun[1] = NEUTRAL;
      #pragma unroll
      for (int i = 0; i < S::REST; i++) {
        u32 word = words[(enter * ROWS + i) * 32];
        begun[0] = least(begun[0], evens(word)), begun[1] = least(begun[1], odds(word));
      }
    }
    const int below = after(leave), behind = after(enter);
    const bool last = left == S::BLOCK - 1;
    u32 entering[ROWS], single[PAIRS], ends[PAIRS];
    #pragma unroll
    for (int i = 0; i < ROWS; i++) {
      int k = i + S::REST;
      entering[i] = k < ROWS ? words[(enter * ROWS + k) * 32] : words[(behind * ROWS + k - ROWS) * 32];
    }
    #pragma unroll
    for (int p = 0; p < PAIRS; p++) {
      single[p] = words[(leave * ROWS + 2 * p + 1) * 32];
      ends[p] = p + 1 < PAIRS ? words[(leave * ROWS + 2 * p + 2) * 32] : words[below * ROWS * 32];
    }
    if (last) ends[PAIRS - 1] = ~0u;
    #pragma unroll
    for (int p = 0; p < PAIRS; p++) {
      u32 x[2][2] = {{evens(entering[2 * p]), odds(entering[2 * p])}, {evens(entering[2 * p + 1]), odds(entering[2 * p + 1])}};
      u32 follow[2] = {evens(ends[p]), odds(ends[p])}, alone[2] = {evens(single[p]), odds(single[p])}, upper[2], lower[2];
      #pragma unroll
      for (int l = 0; l < 2; l++) {
        upper[l] = least(end[l], begun[l], x[0][l]);
        begun[l] = least(begun[l], x[0][l], x[1][l]);
        lower[l] = least(follow[l], alone[l], begun[l]);
        end[l] = follow[l];
      }
      out[p * 4 * apart] = make_uint4(__byte_perm(upper[0], lower[0], 0x5410), __byte_perm(upper[1], lower[1], 0x5410),
                                      __byte_perm(upper[0], lower[0], 0x7632), __byte_perm(upper[1], lower[1], 0x7632));
    }
    leave = below, enter = behind, left = last ? 0 : left + 1;
  };

  down(pairs + spot);
  const int pair = warp / SEGMENTS, run = warp % SEGMENTS * S::EACH + lane, x = x0 + run * 16;
  const bool mine = lane < S::EACH && run < runs && x < width;
  int y = y0 + 2 * pair;
  u8* target = to + (size_t)y * width + x;
  for (int s = 0; s < steps; s++) {
    __syncthreads();
    const uint4* of = pairs + (s & 1) * step + pair * 4 * apart + run;
    const int FIRST = (S::SKIP + 16 + 3) / 4, LAST = (S::SKIP + 16 + S::LEFT + 3) / 4;
    u32 a[4 * FIRST], b[4 * LAST];
    #pragma unroll
    for (int t = 0; t < FIRST; t++) {
      uint4 q = of[(S::QUAD + t) % 4 * apart + (S::QUAD + t) / 4];
      a[4 * t] = q.x, a[4 * t + 1] = q.y, a[4 * t + 2] = q.z, a[4 * t + 3] = q.w;
    }
    #pragma unroll
    for (int t = 0; t < LAST; t++) {
      uint4 q = of[(S::QUAD + t) % 4 * apart + (S::QUAD + t) / 4 + S::RUNS];
      b[4 * t] = q.x, b[4 * t + 1] = q.y, b[4 * t + 2] = q.z, b[4 * t + 3] = q.w;
    }
    // The next rows go down meanwhile.
    if (s + 1 < steps) down(pairs + ((s + 1) & 1) * step + spot);
    u32 ends[8];
    ends[7] = least(a[S::SKIP + 14], a[S::SKIP + 15]);
    #pragma unroll
    for (int p = 6; p >= 0; p--) ends[p] = least(ends[p + 1], a[S::SKIP + 2 * p], a[S::SKIP + 2 * p + 1]);
    u32 so_far = NEUTRAL;
    #pragma unroll
    for (int k = 1; k < S::RUNS; k++) so_far = least(so_far, __shfl_down_sync(~0u, ends[0], k));
    u32 window[16];
    #pragma unroll
    for (int q = 0; q < 8 + S::LEFT / 2; q++) {
      const int p = q - S::LEFT / 2;
      u32 even = b[S::SKIP + 2 * q], odd = b[S::SKIP + 2 * q + 1];
      if (p >= 0) window[2 * p] = least(ends[p], so_far, even);
      so_far = least(so_far, even, odd);
      if (p >= 0) window[2 * p + 1] = p == 7 ? least(a[S::SKIP + 15], so_far) : least(ends[p + 1], a[S::SKIP + 2 * p + 1], so_far);
    }
    u32 upper[4], lower[4];
    #pragma unroll
    for (int w = 0; w < 4; w++) {
      u32 two = window[4 * w] + window[4 * w + 1] * 256, more = window[4 * w + 2] + window[4 * w + 3] * 256;
      upper[w] = __byte_perm(two, more, 0x5410), lower[w] = __byte_perm(two, more, 0x7632);
    }
    if (mine && y < height) *(uint4*)target = make_uint4(upper[0], upper[1], upper[2], upper[3]);
    if (mine && y + 1 < height) *(uint4*)(target + width) = make_uint4(lower[0], lower[1], lower[2], lower[3]);
    y += ROWS, target += (size_t)ROWS * width;
  }
}

template <int R> static void eroded(int side) {
  typedef Shape<R> S;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  int all = side / 16, across = (all + SEGMENTS * S::EACH - 1) / (SEGMENTS * S::EACH), runs = (all + across - 1) / across;
  int strips = std::max(1, properties.multiProcessorCount / across), steps = ((side + strips - 1) / strips + ROWS - 1) / ROWS;
  strips = (side + steps * ROWS - 1) / (steps * ROWS);
  int last = S::EACH * (SEGMENTS - 1) + 31, quads = S::QUAD + 4 * (std::max(runs - 1, 0) + S::RUNS) + (S::SKIP + 16 + S::LEFT + 3) / 4;
  int reading = (quads + 31) / 32, apart = (std::max(reading * 32, S::QUAD + 4 * last + 5) + 3) / 4;
  while (apart % 8 != 2) apart++;
  size_t bytes = (size_t)2 * PAIRS * 4 * apart * 16 + (size_t)reading * S::RING * ROWS * 128;
  std::string s = std::to_string(side);
  size_t n = (size_t)side * side;
  Ring<u8> in(2, n), out(2, n);
  random(in, 7);
  // Else the least of so many is 0 nearly everywhere.
  for (u8* p : in.buffers) each(n, [=] __device__(size_t i) { p[i] |= (mixed((u32)i, 11) & 4095) ? 0x80 : 0; });
  rival("stencil/erosion-u8", s + " × " + s + " u8, least, r = " + std::to_string(R), "CUDA C++, rows kept", "every 30011th pixel with all of its square",
        [&](size_t k) {
          if (bytes > properties.sharedMemPerBlockOptin || reading > S::WARPS) throw std::runtime_error("too little shared memory");
          CHECK(cudaFuncSetAttribute(erode<R>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
          erode<R><<<dim3(across, strips), S::WARPS * 32, bytes>>>(in[k], out[k], side, side, steps, runs, reading, apart);
        },
        [&] {
          const u8 *from = in[0], *to = out[0];
          return wrong(n / 30011, [=] __device__(size_t place) {
            size_t at = place * 30011;
            int x = at % side, y = at / side, found = 255;
            for (int py = max(0, y - R); py <= min(side - 1, y + R); py++)
              for (int px = max(0, x - R); px <= min(side - 1, x + R); px++) found = min(found, (int)from[(size_t)py * side + px]);
            return to[at] == found;
          });
        });
}
static void erosion() {
  tool("CUDA C++", toolkit());
  eroded<15>(16384);
  eroded<50>(16384);
}
static Part erosion_part("erosion", erosion);
