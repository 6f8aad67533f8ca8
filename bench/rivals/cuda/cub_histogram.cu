// CUB's DeviceHistogram: 256 bins of bytes, on four distributions.
#include <cub/device/device_histogram.cuh>

#include "cub.cuh"

// Noise whose amplitude halves with each octave, interpolated linearly, as the lab has it.
__device__ inline u8 picture(u32 x, u32 y, u32 seed) {
  float sum = 0, most = 0;
  for (u32 octave = 0; octave < 10; octave++) {
    u32 step = 1u << octave, left = x / step, top = y / step;
    float across = (float)(x % step) / step, down = (float)(y % step) / step, weight = step;
    auto lattice = [&](u32 i, u32 j) { return unit(mixed(i + 8191 * j, 100 + octave + 16 * seed)); };
    float above = lattice(left, top) * (1 - across) + lattice(left + 1, top) * across;
    float below = lattice(left, top + 1) * (1 - across) + lattice(left + 1, top + 1) * across;
    sum += weight * (above * (1 - down) + below * down);
    most += weight;
  }
  return (u8)(256 * sum / most);
}
static void histogram() {
  tool("CUB", cub_version());
  for (int exponent : {24, 30})
    for (std::string kind : {"uniform", "gaussian", "constant", "1/f picture"}) {
      size_t n = (size_t)1 << exponent, k = rotation((double)n);
      Ring<u8> in(k, n);
      Ring<int> bins(1, 256);
      for (size_t copy = 0; copy < k; copy++) {
        u8* p = in[copy];
        if (kind == "uniform") random(p, n, 1 + copy);
        if (kind == "constant") CHECK(cudaMemset(p, 77, n));
        // The mean of four bytes: 128 and 37 to each side.
        if (kind == "gaussian") each(n, [=] __device__(size_t i) {
          u32 h = mixed((u32)i, 2 + copy);
          p[i] = (u8)(((h & 255) + (h >> 8 & 255) + (h >> 16 & 255) + (h >> 24)) >> 2);
        });
        if (kind == "1/f picture") each(n, [=] __device__(size_t i) { p[i] = picture((u32)(i % 4096), (u32)(i / 4096), copy); });
      }
      cub_rival("histogram/u8", "2^" + std::to_string(exponent) + " u8, " + kind, "cub::DeviceHistogram::HistogramEven", "every bin, with a loop",
                [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceHistogram::HistogramEven(memory, bytes, in[i], bins[0], 257, 0, 256, (int)n); },
                [&]() -> std::string {
                  std::vector<int> expected(4 * 256, 0), found = bins.host(256);
                  std::vector<u8> samples = in.host(n);
                  // Four in turn, so that equal samples do not wait for each other.
                  for (size_t i = 0; i < n; i++) expected[i % 4 * 256 + samples[i]]++;
                  for (int v = 0; v < 256; v++)
                    if (found[v] != expected[v] + expected[256 + v] + expected[512 + v] + expected[768 + v])
                      return "bin " + std::to_string(v) + " differs";
                  return "";
                });
    }
}
static Part histogram_part("cub_histogram", histogram);
