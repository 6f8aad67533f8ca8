// What the parts that call CUB share.
#pragma once
#include <cub/version.cuh>

#include "rival.cuh"

inline std::string cub_version() {
  return std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);
}

// A call of CUB with memory of its own, which is there before the clock starts: `call(memory, bytes, i)`.
template <class Call, class Check>
void cub_rival(const std::string& ladder, const std::string& label, const std::string& name, const std::string& how, Call call, Check check) {
  size_t bytes = 0;
  CHECK(call(nullptr, bytes, 0));
  Ring<u8> memory(1, bytes + 256);
  rival(ladder, label, name, how, [&](size_t i) { CHECK(call((void*)memory[0], bytes, i)); }, check);
}
