// Parameters by dotted name, all in one arena and their gradients in another: one pass to clip and step,
// one buffer to sum. The same walk through the layers declares, initialises, loads, saves and counts them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/tensor/tensor.h"

namespace heed::nn {

// A number for a place in the model, from its path by FNV-1a: keys of its starting values and of its dropout, whatever
// was declared before it.
uint64_t place_of(std::string_view path);

// How a parameter starts: uniform or normal with the given spread, or one value.
struct Init {
  enum Kind { kConstant, kUniform, kNormal } kind = kConstant;
  float value = 0;  // the constant, the bound, or the standard deviation
  static Init zeros() { return {kConstant, 0}; }
  static Init ones() { return {kConstant, 1}; }
  static Init normal(float deviation) { return {kNormal, deviation}; }
  static Init uniform(float bound) { return {kUniform, bound}; }
  static Init xavier(int64_t in, int64_t out);  // uniform, Glorot and Bengio 2010
};

struct Parameter {
  std::string name;
  Tensor tensor;
  Init init;
};

class Parameters {
 public:
  // Declares one; its numbers exist after allocate(). A name is declared once.
  Tensor declare(const std::string& name, const Shape& shape, const Init& init);
  // Gives all of them memory and starting values, which depend on (seed, name) alone.
  void allocate(uint64_t seed);
  // Memory alone: every number is about to be read from a file. What is stored in one already gets none.
  void allocate_for_loading();
  // They will not be trained: no gradients, and no memory for them. Before they are given memory.
  void freeze();

  const std::vector<Parameter>& list() const { return list_; }
  const Parameter* find(std::string_view name) const;
  const Tensor& operator[](std::string_view name) const;  // an error with the nearest name where there is none
  int64_t count() const;                                  // numbers in all of them
  int64_t count_under(std::string_view prefix) const;

  void copy_from(const Parameters& same) const;  // the numbers of a model of the same names and shapes

  float* values() const { return values_.data(); }
  float* gradients() const { return gradients_.data(); }  // complete after finish_gradients()
  int64_t arena_size() const { return size_; }            // parameters lie without gaps
  void clear_gradients() const;
  void finish_gradients() const;  // zeros for those that no backward reached

 private:
  std::vector<Parameter> list_;
  Buffer values_, gradients_;
  int64_t size_ = 0;
  bool frozen_ = false;
};

// A place in the tree of names.
class Scope {
 public:
  explicit Scope(Parameters& parameters, std::string prefix = "")
      : parameters_(&parameters), prefix_(std::move(prefix)) {}
  Scope operator/(std::string_view name) const;
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }
  Tensor declare(std::string_view name, const Shape& shape, const Init& init) const;
  const std::string& path() const { return prefix_; }

 private:
  Parameters* parameters_;
  std::string prefix_;
};

}  // namespace heed::nn
