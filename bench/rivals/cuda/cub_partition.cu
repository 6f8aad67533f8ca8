// CUB's other selections: by flags, by a range, of places, of both halves, and of runs of bytes.
#include <cub/device/device_partition.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "cub.cuh"

struct Kept { __host__ __device__ bool operator()(const u32& v) const { return v != 0; } };

struct Within {
  u32 first, span;
  __host__ __device__ bool operator()(const u32& v) const { return v - first <= span; }
};

static std::string label_of(int exponent, const char* kind, int percent) {
  return "2^" + std::to_string(exponent) + " " + kind + ", " + std::to_string(percent) + " %";
}

static std::string differs(const Ring<int>& count, size_t kept) {
  size_t found = (size_t)count.host(1)[0];
  return found == kept ? "" : "the count is " + std::to_string(found) + " instead of " + std::to_string(kept);
}

static void words(int exponent, int percent) {
  size_t n = (size_t)1 << exponent, k = rotation(8.0 * n);
  Ring<u32> in(k, n), out(k, n);
  Ring<u8> flags(k, n);
  Ring<int> count(1, 1);
  u32 below = (u32)(percent * 42949672.96);
  for (size_t copy = 0; copy < k; copy++) {
    u32* p = in[copy];
    u8* f = flags[copy];
    each(n, [=] __device__(size_t i) {
      bool keep = mixed((u32)i, 300 + copy) < below;
      p[i] = keep ? mixed((u32)i, 900 + copy) | 1 : 0;
      f[i] = keep;
    });
  }
  std::vector<u32> input = in.host(n), values, places, others;
  for (size_t i = 0; i < n; i++) {
    if (input[i]) values.push_back(input[i]), places.push_back((u32)i);
    else others.push_back(0);
  }
  std::string label = label_of(exponent, "u32", percent);
  auto is = [&](const std::vector<u32>& expected) -> std::string {
    std::string reason = differs(count, expected.size());
    if (!reason.empty()) return reason;
    return out.host(expected.size()) == expected ? "" : "words differ";
  };
  cub_rival("select/flagged", label, "cub::DeviceSelect::Flagged", "every word and the count, with a loop",
            [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceSelect::Flagged(memory, bytes, in[i], flags[i], out[i], count[0], (int)n); },
            [&] { return is(values); });
  cub_rival("select/within", label, "cub::DeviceSelect::If of a range", "every word and the count, with a loop",
            [&](void* memory, size_t& bytes, size_t i) {
              return cub::DeviceSelect::If(memory, bytes, in[i], out[i], count[0], (int)n, Within{1, ~1u});
            },
            [&] { return is(values); });
  cub_rival("select/indices", label, "cub::DeviceSelect::Flagged of a counting iterator", "every place and the count, with a loop",
            [&](void* memory, size_t& bytes, size_t i) {
              return cub::DeviceSelect::Flagged(memory, bytes, thrust::counting_iterator<u32>(0), in[i], out[i], count[0], (int)n);
            },
            [&] { return is(places); });
  // Both halves lie in one array, the second in reverse.
  cub_rival("select/partition", label, "cub::DevicePartition::If, the others in reverse", "every word and the count, with a loop",
            [&](void* memory, size_t& bytes, size_t i) { return cub::DevicePartition::If(memory, bytes, in[i], out[i], count[0], (int)n, Kept{}); },
            [&]() -> std::string {
              std::string reason = differs(count, values.size());
              if (!reason.empty()) return reason;
              std::vector<u32> both = values;
              both.insert(both.end(), others.begin(), others.end());
              return out.host(n) == both ? "" : "words differ";
            });
}

static void runs(int exponent, int percent) {
  size_t n = (size_t)1 << exponent, k = rotation((1 + 5 * percent / 100.0) * n);
  Ring<u8> in(k, n), values(k, n);
  Ring<int> lengths(k, n), count(1, 1);
  std::vector<u8> input(n), expected;
  std::vector<int> sizes;
  u32 below = (u32)(percent * 42949672.96), state = 12345;
  u8 bit = 0;
  for (size_t i = 0; i < n; i++) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    bit ^= state < below;
    input[i] = 6 | bit;
    if (i == 0 || input[i] != input[i - 1]) expected.push_back(input[i]), sizes.push_back(0);
    sizes.back()++;
  }
  for (size_t copy = 0; copy < k; copy++) CHECK(cudaMemcpy(in[copy], input.data(), n, cudaMemcpyHostToDevice));
  cub_rival("select/runs-u8", label_of(exponent, "u8", percent), "cub::DeviceRunLengthEncode::Encode, lengths and no rows",
            "every run and the count, with a loop",
            [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceRunLengthEncode::Encode(memory, bytes, in[i], values[i], lengths[i], count[0], (int)n); },
            [&]() -> std::string {
              std::string reason = differs(count, sizes.size());
              if (!reason.empty()) return reason;
              return values.host(sizes.size()) == expected && lengths.host(sizes.size()) == sizes ? "" : "runs differ";
            });
}

static void partition() {
  tool("CUB", cub_version());
  for (int exponent : {20, 24, 28})
    for (int percent : {1, 50, 99}) {
      if (exponent < 28 && percent != 50) continue;
      words(exponent, percent);
      runs(exponent, percent);
    }
}
static Part partition_part("cub_partition", partition);
