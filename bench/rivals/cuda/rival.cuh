// What the parts share: the record, memory of the device, checks, times.
//
// A part is a function; `rivals RECORD PART` runs it and appends to the record: a line for the tool, then one for each rival.
// Every rival is checked before it is timed, with its output poisoned, at the size that is timed.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

typedef uint8_t u8;
typedef uint32_t u32;
typedef unsigned long long u64;

// ------------------------------------------------------------ parts
inline std::map<std::string, std::function<void()>>& parts() {
  static std::map<std::string, std::function<void()>> all;
  return all;
}
struct Part {
  Part(const char* name, void (*run)()) { parts()[name] = run; }
};

// ------------------------------------------------------------ the record
inline FILE*& record() {
  static FILE* file = nullptr;
  return file;
}
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += (unsigned char)c < 32 ? ' ' : c;
  }
  return out + "\"";
}
inline void line(const std::string& text) {
  fprintf(record(), "%s\n", text.c_str());
  fflush(record());
}

#define CHECK(call)                                                                                        \
  do {                                                                                                     \
    cudaError_t error_ = (call);                                                                           \
    if (error_ != cudaSuccess) throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(error_)); \
  } while (0)

// The line of a tool; what follows is of this tool.
inline void tool(const std::string& name, const std::string& version) {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  CHECK(cudaDriverGetVersion(&driver));
  char date[32];
  time_t now = time(nullptr);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  std::string cuda = "CUDA " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
  line("{\"tool\":{\"tool\":" + quoted(name) + ",\"version\":" + quoted(version) + ",\"device\":" + quoted(properties.name) +
       ",\"driver\":" + quoted(cuda) + ",\"date\":" + quoted(date) + ",\"command\":\"bench/rivals/run OUT gpu\"}}");
}
inline std::string toolkit() {
  return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

// ------------------------------------------------------------ memory
// Words that no right result is likely to hold.
const int POISON = 0xa5;

// Buffers to rotate through, so that no cache answers; one where a call moves more than the caches hold many times over.
template <class T> struct Ring {
  std::vector<T*> buffers;
  size_t len;
  Ring(size_t count, size_t len) : len(len) {
    for (size_t k = 0; k < count; k++) {
      T* p = nullptr;
      CHECK(cudaMalloc(&p, len * sizeof(T) + 64));
      CHECK(cudaMemset(p, POISON, len * sizeof(T) + 64));
      buffers.push_back(p);
    }
  }
  explicit Ring(const std::vector<T>& host) : Ring(1, host.size()) {
    CHECK(cudaMemcpy(buffers[0], host.data(), len * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Ring() { for (T* p : buffers) cudaFree(p); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  T* operator[](size_t i) const { return buffers[i % buffers.size()]; }
  void poison() { CHECK(cudaMemset(buffers[0], POISON, len * sizeof(T))); }
  std::vector<T> host(size_t count) const {
    std::vector<T> out(count);
    CHECK(cudaMemcpy(out.data(), buffers[0], count * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }
};
inline size_t rotation(double bytes) { return bytes >= 480e6 ? 1 : std::min<size_t>(16, 1 + size_t(480e6 / bytes)); }
inline unsigned blocks(size_t n, size_t each) { return (unsigned)((n + each - 1) / each); }

// ------------------------------------------------------------ random data
__host__ __device__ inline u32 mixed(u32 x, u32 seed) {
  x = x * 0x9E3779B9u + seed * 0x85EBCA6Bu + 0x1234567u;
  x ^= x >> 16; x *= 0x7FEB352Du;
  x ^= x >> 15; x *= 0x846CA68Bu;
  return x ^ (x >> 16);
}
__host__ __device__ inline float unit(u32 h) { return (float)(h >> 8) * (1.0f / 16777216.0f); }

template <class F> static __global__ void each_place(size_t n, F f) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;
  for (; i < n; i += step) f(i);
}
// f(i) for all places below n.
template <class F> void each(size_t n, F f) {
  each_place<<<2048, 256>>>(n, f);
  CHECK(cudaGetLastError());
}
inline void random(u32* p, size_t n, u32 seed) {
  each(n, [=] __device__(size_t i) { p[i] = mixed((u32)i, seed ^ (u32)(i >> 32)); });
}
inline void random(u8* p, size_t n, u32 seed) {
  each(n, [=] __device__(size_t i) { p[i] = (u8)(mixed((u32)i, seed ^ (u32)(i >> 32)) >> 24); });
}
inline void random(float* p, size_t n, u32 seed) {
  each(n, [=] __device__(size_t i) { p[i] = unit(mixed((u32)i, seed ^ (u32)(i >> 32))); });
}
template <class T> Ring<T>& random(Ring<T>& ring, u32 seed) {
  for (T* p : ring.buffers) random(p, ring.len, seed++);
  return ring;
}

// ------------------------------------------------------------ checks
// Where first `right(i)` does not hold, in words; empty if it always does.
template <class F> std::string wrong(size_t n, F right) {
  u64* first = nullptr;
  CHECK(cudaMalloc(&first, 8));
  CHECK(cudaMemset(first, 0xff, 8));
  each(n, [=] __device__(size_t i) { if (!right(i)) atomicMin(first, (u64)i); });
  u64 place = 0;
  CHECK(cudaMemcpy(&place, first, 8, cudaMemcpyDeviceToHost));
  cudaFree(first);
  return place == ~0ull ? "" : "it differs first at " + std::to_string(place);
}

// ------------------------------------------------------------ times
// Seconds of a call, by device events; calls shorter than 0.1 ms in batches. All calls are asked for before the first is waited
// for, so that the device never waits for the host.
inline std::vector<double> times(const std::function<void(size_t)>& run) {
  const double budget = 0.25;
  size_t calls = 1;
  auto timed = [&](size_t batch, size_t count) {
    std::vector<cudaEvent_t> events(2 * count);
    for (auto& event : events) CHECK(cudaEventCreate(&event));
    for (size_t number = 0; number < count; number++) {
      CHECK(cudaEventRecord(events[2 * number]));
      for (size_t k = 0; k < batch; k++) run(calls++);
      CHECK(cudaEventRecord(events[2 * number + 1]));
    }
    CHECK(cudaDeviceSynchronize());
    std::vector<double> found;
    for (size_t number = 0; number < count; number++) {
      float ms = 0;
      CHECK(cudaEventElapsedTime(&ms, events[2 * number], events[2 * number + 1]));
      found.push_back(ms * 1e-3 / batch);
    }
    for (auto& event : events) cudaEventDestroy(event);
    std::sort(found.begin(), found.end());
    return found;
  };
  double about = timed(1, 1)[0];
  if (about < budget) about = std::min(about, timed(1, 1)[0]);
  size_t batch = about < 1e-4 ? 10 : 1;
  return timed(batch, std::min<size_t>(40, std::max<size_t>(3, size_t(budget / (about * batch)))));
}
inline double quantile(const std::vector<double>& sorted, double q) {
  double place = q * (sorted.size() - 1);
  size_t low = (size_t)place, high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

// Checks a rival and times it. `ladder` and `label` are the lab's, several ladders with blanks between; `how` says what the
// result was compared with.
inline void rival(const std::string& ladders, const std::string& label, const std::string& name, const std::string& how,
                  const std::function<void(size_t)>& run, const std::function<std::string()>& check) {
  auto write = [&](const char* what, const std::string& rest) {
    std::istringstream each(ladders);
    for (std::string ladder; each >> ladder;)
      line("{\"" + std::string(what) + "\":{\"ladder\":" + quoted(ladder) + ",\"case\":" + quoted(label) + ",\"name\":" + quoted(name) + rest + "}}");
  };
  auto failed = [&](const std::string& reason) {
    write("failed", ",\"reason\":" + quoted(reason));
    printf("%s, %s: %s: FAILED: %s\n", ladders.c_str(), label.c_str(), name.c_str(), reason.c_str());
  };
  try {
    run(0);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::string reason = check();
    if (!reason.empty()) return failed(reason);
    std::vector<double> found = times(run);
    CHECK(cudaDeviceSynchronize());
    char numbers[160];
    snprintf(numbers, sizeof numbers, ",\"median\":%.6g,\"p10\":%.6g,\"p90\":%.6g,\"samples\":%zu", quantile(found, 0.5),
             quantile(found, 0.1), quantile(found, 0.9), found.size());
    write("rival", numbers + (",\"right\":" + quoted(how)));
    printf("%s, %s: %s: %.4g ms\n", ladders.c_str(), label.c_str(), name.c_str(), quantile(found, 0.5) * 1e3);
  } catch (const std::exception& error) {
    failed(error.what());
    // A broken context cannot be mended; the process ends, and other parts have their own.
    if (cudaDeviceSynchronize() != cudaSuccess) throw;
    cudaGetLastError();
  }
  fflush(stdout);
}
