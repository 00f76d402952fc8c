// Throws bytes at the reader of checkpoints: it takes all of them, or refuses them with one line before it changes a
// number.
#include "heed/train/checkpoint.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "heed/base/error.h"

namespace {

constexpr int64_t kSize = 3;  // as in the corpus
constexpr float kUntouched = -12345;

void require(bool condition) {
  if (!condition) std::abort();
}

void read(const heed::SafeTensors& file, bool average) {
  std::vector<float> numbers(4 * kSize, kUntouched);
  float* all = numbers.data();
  const heed::train::RunArrays arrays{kSize, all, {all + kSize, all + 2 * kSize}, average ? all + 3 * kSize : nullptr};
  try {
    const heed::train::RunState state = heed::train::take_checkpoint(file, "input", arrays, "corpus");
    require(state.step >= 0 && state.epoch >= 0 && state.batch >= 0 && state.metrics_bytes >= 0);
    require(state.skipped >= 0 && state.skipped <= state.step);
  } catch (const heed::FileError& error) {
    const std::string message = error.what();
    require(message.starts_with("[checkpoint] 'input'") && message.find('\n') == std::string::npos);
    require(std::all_of(numbers.begin(), numbers.end(), [](float x) { return x == kUntouched; }));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + size);
  try {
    const auto file = heed::SafeTensors::parse(bytes, "input");
    read(file, false);
    read(file, true);
  } catch (const heed::FileError&) {
    // Not even safetensors: its own fuzzer looks at these.
  }
  return 0;
}
