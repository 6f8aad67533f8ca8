// rivals RECORD PART: appends what a part measures to the record. Without arguments: names the parts.
#include "rival.cuh"

// Brings the clocks up.
static __global__ void busy(float* out) {
  float a = threadIdx.x;
  for (int k = 0; k < 1 << 16; k++) a = a * 0.999f + 1.0f;
  out[threadIdx.x] = a;
}

int main(int count, char** arguments) {
  if (count != 3) {
    for (auto& part : parts()) printf("%s\n", part.first.c_str());
    return 0;
  }
  auto part = parts().find(arguments[2]);
  record() = fopen(arguments[1], "a");
  if (!record() || part == parts().end()) {
    fprintf(stderr, "rivals: no record '%s', or no part '%s'\n", arguments[1], arguments[2]);
    return 2;
  }
  try {
    Ring<float> out(1, 256);
    for (int k = 0; k < 100; k++) busy<<<1024, 256>>>(out[0]);
    CHECK(cudaDeviceSynchronize());
    part->second();
  } catch (const std::exception& error) {
    fprintf(stderr, "rivals: %s: %s\n", arguments[2], error.what());
    return 1;
  }
  return 0;
}
