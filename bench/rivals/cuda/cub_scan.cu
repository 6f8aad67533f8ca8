// CUB's DeviceScan and DeviceReduce.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <cuda/std/functional>

#include "cub.cuh"

static void scan() {
  tool("CUB", cub_version());
  for (int exponent : {24, 28}) {
    size_t n = (size_t)1 << exponent;
    std::string power = "2^" + std::to_string(exponent);
    {
      size_t k = rotation(8.0 * n);
      Ring<u32> in(k, n), out(k, n);
      random(in, 1);
      const char* how = "every sum less the one before, which is the input";
      cub_rival("scan/u32", power + " u32", "cub::DeviceScan::InclusiveSum", how,
                [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceScan::InclusiveSum(memory, bytes, in[i], out[i], (int)n); }, [&] {
                  const u32 *a = in[0], *b = out[0];
                  return wrong(n, [=] __device__(size_t i) { return b[i] - (i ? b[i - 1] : 0) == a[i]; });
                });
      out.poison();
      cub_rival("scan/exclusive-u32", power + " u32", "cub::DeviceScan::ExclusiveSum", how,
                [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceScan::ExclusiveSum(memory, bytes, in[i], out[i], (int)n); }, [&] {
                  const u32 *a = in[0], *b = out[0];
                  return wrong(n, [=] __device__(size_t i) { return i ? b[i] - b[i - 1] == a[i - 1] : b[i] == 0; });
                });
    }
    {
      size_t k = rotation(5.0 * n);
      Ring<u8> in(k, n);
      Ring<u32> out(k, n);
      random(in, 1);
      cub_rival("scan/u8", power + " u8", "cub::DeviceScan::InclusiveSum", "every sum less the one before, which is the input",
                [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceScan::InclusiveSum(memory, bytes, in[i], out[i], (int)n); }, [&] {
                  const u8* a = in[0];
                  const u32* b = out[0];
                  return wrong(n, [=] __device__(size_t i) { return b[i] - (i ? b[i - 1] : 0) == a[i]; });
                });
      out.poison();
      // With a sum of 32 bits: ExclusiveSum would take the input's own type for it.
      cub_rival("scan/exclusive-u8", power + " u8", "cub::DeviceScan::ExclusiveScan", "every sum less the one before, which is the input",
                [&](void* memory, size_t& bytes, size_t i) {
                  return cub::DeviceScan::ExclusiveScan(memory, bytes, in[i], out[i], ::cuda::std::plus<>{}, (u32)0, (int)n);
                },
                [&] {
                  const u8* a = in[0];
                  const u32* b = out[0];
                  return wrong(n, [=] __device__(size_t i) { return i ? b[i] - b[i - 1] == a[i - 1] : b[i] == 0; });
                });
    }
  }
}
static Part scan_part("cub_scan", scan);

static void reduce() {
  tool("CUB", cub_version());
  for (int exponent : {24, 28}) {
    size_t n = (size_t)1 << exponent, k = rotation(4.0 * n);
    std::string power = "2^" + std::to_string(exponent);
    {
      Ring<float> in(k, n), out(1, 1);
      random(in, 1);
      cub_rival("reduce/sum-f32", power + " f32", "cub::DeviceReduce::Sum", "the sum in f64, by a part in 10^5",
                [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceReduce::Sum(memory, bytes, in[i], out[0], (int)n); },
                [&]() -> std::string {
                  double sum = 0;
                  for (float v : in.host(n)) sum += v;
                  double found = out.host(1)[0];
                  return std::abs(found / sum - 1) < 1e-5 ? "" : "it is " + std::to_string(found) + " instead of " + std::to_string(sum);
                });
    }
    {
      Ring<u32> in(k, n), out(1, 1);
      random(in, 1);
      cub_rival("reduce/sum-u32", power + " u32", "cub::DeviceReduce::Sum", "the sum modulo 2^32",
                [&](void* memory, size_t& bytes, size_t i) { return cub::DeviceReduce::Sum(memory, bytes, in[i], out[0], (int)n); },
                [&]() -> std::string {
                  u32 sum = 0;
                  for (u32 v : in.host(n)) sum += v;
                  return out.host(1)[0] == sum ? "" : "it is " + std::to_string(out.host(1)[0]) + " instead of " + std::to_string(sum);
                });
    }
  }
}
static Part reduce_part("cub_reduce", reduce);
