#include "heed/models/architecture.h"

namespace heed::models {

std::span<const Architecture* const> architectures() {
  static const Architecture* const all[] = {&kMarian, &kGpt2, &kLlama, &kQwen2, &kMistral};
  return all;
}

const Architecture* find_architecture(const std::string& type) {
  for (const Architecture* a : architectures()) {
    if (type == a->type) return a;
  }
  return nullptr;
}

const Architecture* architecture_of(const ModelConfig& config) {
  for (const Architecture* a : architectures()) {
    if (a->fits(config)) return a;
  }
  return nullptr;
}

}  // namespace heed::models
