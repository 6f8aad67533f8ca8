// CUB's DeviceSelect: samples other than 0, by density.
#include <cub/device/device_select.cuh>

#include "cub.cuh"

template <class T> struct Kept { __host__ __device__ bool operator()(const T& v) const { return v != 0; } };

template <class T> static void select_of(const char* kind) {
  for (int exponent : {24, 28})
    for (int percent : {0, 1, 10, 50, 90, 99, 100}) {
      if (exponent == 24 && percent != 50 && sizeof(T) == 1) continue;
      size_t n = (size_t)1 << exponent, k = rotation(sizeof(T) * n * (1 + percent / 100.0));
      Ring<T> in(k, n), out(k, n);
      Ring<int> count(1, 1);
      u32 below = percent == 100 ? ~0u : (u32)(percent * 42949672.96);
      for (size_t copy = 0; copy < k; copy++) {
        T* p = in[copy];
        each(n, [=] __device__(size_t i) {
          T v = (T)(mixed((u32)i, 900 + copy) | 1);
          p[i] = percent == 100 || mixed((u32)i, 300 + copy) < below ? v : (T)0;
        });
      }
      std::string label = "2^" + std::to_string(exponent) + " " + kind + ", " + std::to_string(percent) + " %";
      std::string ladder = std::string("select/") + kind;
      if (sizeof(T) == 4 && exponent == 24) ladder = percent == 50 ? ladder + " select/densities" : "select/densities";
      if (sizeof(T) == 4 && percent == 50) ladder += " select/sizes";
      cub_rival(ladder, label, "cub::DeviceSelect::If", "every sample and the count, with a loop",
                [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceSelect::If(memory, bytes, in[i], out[i], count[0], (int)n, Kept<T>{}); },
                [&]() -> std::string {
                  std::vector<T> expected(n + 1), input = in.host(n);
                  size_t kept = 0;
                  for (T v : input) { expected[kept] = v; kept += v != 0; }
                  if ((size_t)count.host(1)[0] != kept) return "the count is " + std::to_string(count.host(1)[0]) + " instead of " + std::to_string(kept);
                  std::vector<T> found = out.host(kept);
                  return std::equal(found.begin(), found.end(), expected.begin()) ? "" : "samples differ";
                });
    }
}
static void select() {
  tool("CUB", cub_version());
  select_of<u32>("u32");
  select_of<u8>("u8");
}
static Part select_part("cub_select", select);
