// Families that look around a pixel, by plain CUDA C++: the distance, in two passes, and the bilateral filter by its definition.
#include "rival.cuh"

// The vertical distance to a white pixel, at most d + 1: two sweeps over a strip of rows, with d rows more at both ends.
static __global__ void sweep_columns(const u8* mask, u8* near, int width, int height, int d, int strip) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  int y0 = blockIdx.y * strip, y1 = min(y0 + strip, height), c = d + 1;
  for (int y = max(y0 - d, 0); y < y1; y++) {
    c = mask[(size_t)y * width + x] ? 0 : min(c + 1, d + 1);
    if (y >= y0) near[(size_t)y * width + x] = c;
  }
  c = d + 1;
  for (int y = min(y1 - 1 + d, height - 1); y >= y0; y--) {
    c = mask[(size_t)y * width + x] ? 0 : min(c + 1, d + 1);
    if (y < y1 && c < near[(size_t)y * width + x]) near[(size_t)y * width + x] = c;
  }
}
// The least square along a row, from the pixel outwards until no nearer one is possible; then the function of it.
static __global__ void look_along(const u8* near, u8* out, const u8* profile, int width, int d) {
  __shared__ int squares[256 + 2 * 127];
  int y = blockIdx.y, x0 = blockIdx.x * 256;
  for (int t = threadIdx.x; t < 256 + 2 * d; t += 256) {
    int x = x0 + t - d, v = d + 1;
    if (x >= 0 && x < width) v = near[(size_t)y * width + x];
    squares[t] = v > d ? 1 << 28 : v * v;
  }
  __syncthreads();
  int x = x0 + threadIdx.x;
  if (x >= width) return;
  int best = squares[threadIdx.x + d];
  for (int dx = 1; dx <= d && dx * dx < best; dx++)
    best = min(best, min(squares[threadIdx.x + d - dx], squares[threadIdx.x + d + dx]) + dx * dx);
  out[(size_t)y * width + x] = profile[min(best, d * d + 1)];
}
static void distance() {
  tool("CUDA C++", toolkit());
  struct Mask { const char* name; double part; };
  for (int side : {4096, 10240})
    for (int d : {15, 100})
      for (Mask kind : {Mask{"0.01 % white", 1e-4}, Mask{"1 % white", 1e-2}, Mask{"50 % white", 0.5}, Mask{"lines", 0}}) {
        const int strip = 512;
        size_t n = (size_t)side * side;
        Ring<u8> mask(1, n), near(1, n), out(1, n), profile(1, d * d + 2);
        u8* m = mask[0];
        u32 below = (u32)(kind.part * 4294967295.0);
        each(n, [=] __device__(size_t i) {
          m[i] = (below ? mixed((u32)i, 17) < below : i % side % 40 == 3 || i / side % 40 == 3) ? 255 : 0;
        });
        random(profile, 5);
        std::string s = std::to_string(side), r = std::to_string(d);
        rival("distance/" + r, s + " × " + s + ", R = " + r + ", " + kind.name, "CUDA C++, columns, then rows", "every 509th pixel with all of its square",
              [&](size_t) {
                sweep_columns<<<dim3(blocks(side, 128), blocks(side, strip)), 128>>>(mask[0], near[0], side, side, d, strip);
                look_along<<<dim3(blocks(side, 256), side), 256>>>(near[0], out[0], profile[0], side, d);
              },
              [&] {
                const u8 *m = mask[0], *o = out[0], *f = profile[0];
                return wrong(n / 509, [=] __device__(size_t place) {
                  size_t at = place * 509;
                  int x = at % side, y = at / side, best = d * d + 1;
                  for (int py = max(0, y - d); py <= min(side - 1, y + d); py++)
                    for (int px = max(0, x - d); px <= min(side - 1, x + d); px++)
                      if (m[(size_t)py * side + px]) best = min(best, (px - x) * (px - x) + (py - y) * (py - y));
                  return o[at] == f[best];
                });
              });
      }
}
static Part distance_part("distance", distance);

// Weights of space and of range, over the disc of a radius; pixels outside are the nearest inside.
static __global__ void bilateral_disc(const float* in, float* out, int width, int height, int radius, float space, float range) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float middle = in[(size_t)y * width + x], sum = 0, weights = 0;
  for (int dy = -radius; dy <= radius; dy++) {
    const float* row = in + (size_t)min(max(y + dy, 0), height - 1) * width;
    for (int dx = -radius; dx <= radius; dx++) {
      int square = dx * dx + dy * dy;
      if (square > radius * radius) continue;
      float v = row[min(max(x + dx, 0), width - 1)], d = v - middle;
      float weight = __expf(-(square * space + d * d * range));
      sum += weight * v;
      weights += weight;
    }
  }
  out[(size_t)y * width + x] = sum / weights;
}
static void bilateral() {
  tool("CUDA C++", toolkit());
  struct Size { int width, height; };
  for (Size size : {Size{640, 480}, Size{4096, 4096}}) {
    const int radius = 24;
    const float space = 0.5f / (16 * 16), range = 0.5f / (0.1f * 0.1f);
    int width = size.width, height = size.height;
    size_t n = (size_t)width * height;
    Ring<float> in(1, n), out(1, n);
    random(in, 6);
    rival("bilateral/f32", std::to_string(width) + " × " + std::to_string(height) + " f32, sigma 16", "CUDA C++, the disc of radius 24",
          "every 509th pixel in f64, by 10^-4",
          [&](size_t) { bilateral_disc<<<dim3(blocks(width, 32), blocks(height, 8)), dim3(32, 8)>>>(in[0], out[0], width, height, radius, space, range); },
          [&] {
            const float *a = in[0], *b = out[0];
            return wrong(n / 509, [=] __device__(size_t place) {
              size_t at = place * 509;
              int x = at % width, y = at / width;
              double sum = 0, weights = 0, middle = a[at];
              for (int dy = -radius; dy <= radius; dy++)
                for (int dx = -radius; dx <= radius; dx++) {
                  if (dx * dx + dy * dy > radius * radius) continue;
                  double v = a[(size_t)min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
                  double weight = exp(-(dx * dx + dy * dy) / 512.0 - (v - middle) * (v - middle) / 0.02);
                  sum += weight * v;
                  weights += weight;
                }
              return fabs(b[at] - sum / weights) <= 1e-4;
            });
          });
  }
}
static Part bilateral_part("bilateral", bilateral);
