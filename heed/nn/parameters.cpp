#include "heed/nn/parameters.h"

#include <algorithm>
#include <cmath>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/kernels/elementwise.h"
#include "heed/tensor/autograd.h"

namespace heed::nn {
namespace {

void initialise(const Parameter& p, uint64_t seed) {
  Random random(seed, place_of(p.name));
  float* x = p.tensor.data();
  const int64_t n = p.tensor.numel();
  switch (p.init.kind) {
    case Init::kConstant:
      std::fill_n(x, n, p.init.value);
      break;
    case Init::kUniform:
      std::generate_n(x, n, [&] { return p.init.value * (2 * random.uniform() - 1); });
      break;
    case Init::kNormal:
      std::generate_n(x, n, [&] { return p.init.value * random.normal(); });
      break;
  }
}

bool starts_with(std::string_view name, std::string_view prefix) {
  return name.substr(0, prefix.size()) == prefix &&
         (prefix.empty() || name.size() == prefix.size() || name[prefix.size()] == '.');
}

}  // namespace

uint64_t place_of(std::string_view path) {
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : path) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

Init Init::xavier(int64_t in, int64_t out) { return uniform(std::sqrt(6.0f / static_cast<float>(in + out))); }

Tensor Parameters::declare(const std::string& name, const Shape& shape, const Init& init) {
  if (find(name)) fail("[parameters] '{}' is declared twice", name);
  if (values_) fail("[parameters] '{}' is declared after the others were given memory", name);
  Tensor tensor = Tensor::view_of(Buffer(), 0, shape);
  tensor.set_requires_grad();
  list_.push_back({name, tensor, init});
  return tensor;
}

void Parameters::allocate(uint64_t seed) {
  allocate_for_loading();
  for (const Parameter& p : list_) initialise(p, seed);
}

void Parameters::allocate_for_loading() {
  // No gap between parameters: those declared one after the other can be multiplied as one matrix.
  size_ = 0;
  for (const Parameter& p : list_) size_ += p.tensor.stored() ? 0 : p.tensor.numel();
  values_ = Buffer(size_);
  if (!frozen_) gradients_ = Buffer(size_);
  int64_t offset = 0;
  for (const Parameter& p : list_) {
    if (p.tensor.stored()) continue;
    p.tensor.node()->values = values_;
    p.tensor.node()->offset = offset;
    if (!frozen_) Tensor(p.tensor).set_grad_storage(gradients_, offset);
    offset += p.tensor.numel();
  }
}

void Parameters::copy_from(const Parameters& same) const {
  for (const Parameter& p : list_) {
    const Tensor& from = same[p.name];
    if (from.shape() != p.tensor.shape())
      fail("[parameters] '{}' is {}, expected {}", p.name, from.shape().str(), p.tensor.shape().str());
    std::copy_n(from.data(), p.tensor.numel(), p.tensor.data());
  }
}

void Parameters::freeze() {
  if (values_) fail("[parameters] frozen after they were given memory");
  frozen_ = true;
  for (const Parameter& p : list_) Tensor(p.tensor).set_requires_grad(false);
}

const Parameter* Parameters::find(std::string_view name) const {
  const auto it = std::find_if(list_.begin(), list_.end(), [&](const Parameter& p) { return p.name == name; });
  return it == list_.end() ? nullptr : &*it;
}

const Tensor& Parameters::operator[](std::string_view name) const {
  if (const Parameter* p = find(name)) return p->tensor;
  std::vector<std::string> names;
  for (const Parameter& p : list_) names.push_back(p.name);
  fail("[parameters] no '{}'{}", name, nearest_is(name, names));
}

int64_t Parameters::count() const { return count_under(""); }

int64_t Parameters::count_under(std::string_view prefix) const {
  int64_t n = 0;
  for (const Parameter& p : list_) n += starts_with(p.name, prefix) ? p.tensor.numel() : 0;
  return n;
}

void Parameters::clear_gradients() const {
  for (const Parameter& p : list_) Tensor(p.tensor).clear_grad();
}

void Parameters::finish_gradients() const {
  for (const Parameter& p : list_) p.tensor.zeroed_grad_target();
}

Scope Scope::operator/(std::string_view name) const {
  return Scope(*parameters_, prefix_.empty() ? std::string(name) : prefix_ + "." + std::string(name));
}

Tensor Scope::declare(std::string_view name, const Shape& shape, const Init& init) const {
  return parameters_->declare((*this / name).path(), shape, init);
}

}  // namespace heed::nn
