// CUB's DeviceTransform: what is computed place by place.
#include <cub/device/device_transform.cuh>
#include <cub/version.cuh>

#include "cub.cuh"
#include "rival.cuh"

struct Same { __host__ __device__ u32 operator()(u32 a) const { return a; } };
struct Add { __host__ __device__ float operator()(float a, float b) const { return a + b; } };
struct Table {
  const u8* table;
  __device__ u8 operator()(u8 v) const { return table[v]; }
};
struct Gray {
  __host__ __device__ u8 operator()(uchar3 c) const { return (2126 * c.x + 7152 * c.y + 722 * c.z + 5000) / 10000; }
};

static void transform() {
  tool("CUB", cub_version());
  for (int exponent : {24, 28}) {
    size_t n = (size_t)1 << exponent;
    std::string power = "2^" + std::to_string(exponent);
    {
      size_t k = rotation(8.0 * n);
      Ring<u32> in(k, n), out(k, n);
      random(in, 1);
      rival("copy", power + " u32", "cub::DeviceTransform, identity", "every word with the input's",
            [&](size_t i) { CHECK(cub::DeviceTransform::Transform(in[i], out[i], (int)n, Same{})); }, [&] {
              const u32 *a = in[0], *b = out[0];
              return wrong(n, [=] __device__(size_t i) { return a[i] == b[i]; });
            });
    }
    {
      size_t k = rotation(12.0 * n);
      Ring<float> a(k, n), b(k, n), c(k, n);
      random(a, 1);
      random(b, 100);
      rival("map/add", power + " f32", "cub::DeviceTransform", "every sum, bit by bit",
            [&](size_t i) { CHECK(cub::DeviceTransform::Transform(::cuda::std::make_tuple(a[i], b[i]), c[i], (int)n, Add{})); }, [&] {
              const float *x = a[0], *y = b[0], *z = c[0];
              return wrong(n, [=] __device__(size_t i) { return z[i] == x[i] + y[i]; });
            });
    }
    {
      size_t k = rotation(2.0 * n);
      Ring<u8> in(k, n), out(k, n), table(1, 256);
      random(in, 1);
      random(table, 9);
      rival("map/table-u8", power + " u8", "cub::DeviceTransform", "every sample",
            [&](size_t i) { CHECK(cub::DeviceTransform::Transform(in[i], out[i], (int)n, Table{table[0]})); }, [&] {
              const u8 *x = in[0], *y = out[0], *t = table[0];
              return wrong(n, [=] __device__(size_t i) { return y[i] == t[x[i]]; });
            });
    }
  }
  for (int exponent : {24, 26, 28}) {
    size_t n = (size_t)1 << exponent, k = rotation(4.0 * n);
    Ring<u8> in(k, 3 * n), out(k, n);
    random(in, 1);
    rival("map/gray", "2^" + std::to_string(exponent) + " px", "cub::DeviceTransform of uchar3", "every pixel",
          [&](size_t i) { CHECK(cub::DeviceTransform::Transform((uchar3*)in[i], out[i], (int)n, Gray{})); }, [&] {
            const u8 *x = in[0], *y = out[0];
            return wrong(n, [=] __device__(size_t i) {
              return y[i] == (2126 * x[3 * i] + 7152 * x[3 * i + 1] + 722 * x[3 * i + 2] + 5000) / 10000;
            });
          });
  }
}
static Part transform_part("cub_transform", transform);
