// What the golden tests share: a fixture of tests/golden (see tools/golden/README.md), its tensors in heed's terms, and
// the names of PyTorch's modules and of published checkpoints beside heed's own.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "heed/io/safetensors.h"
#include "heed/nn/config.h"
#include "heed/nn/parameters.h"
#include "heed/tensor/ops.h"

namespace heed::testing {

// Norm of the difference over the norm of what was expected. A gradient that is 0 but for rounding is compared with 1.
inline double relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (static_cast<double>(found[i]) - expected[i]) * (static_cast<double>(found[i]) - expected[i]);
    norm += static_cast<double>(expected[i]) * expected[i];
  }
  return std::sqrt(error) / (norm > 1e-18 ? std::sqrt(norm) : 1.0);
}

class Golden {
 public:
  static constexpr double kTolerance = 1e-5;

  explicit Golden(const std::string& name)
      : file_(SafeTensors::open(std::string(HEED_SOURCE_DIR) + "/tests/golden/" + name + ".safetensors")) {
    for (const std::string& tensor : file_.names()) {
      if (tensor.substr(0, 5) == "grad.") unchecked_.insert(tensor);
    }
  }
  ~Golden() {
    for (const std::string& name : unchecked_) ADD_FAILURE() << "nothing was compared with " << name;
  }
  Golden(const Golden&) = delete;
  Golden& operator=(const Golden&) = delete;

  bool contains(const std::string& name) const { return file_.contains(name); }
  Shape shape(const std::string& name) const {
    Shape shape;
    for (const int64_t size : file_.find(name).shape) shape.append(size);
    return shape;
  }
  std::vector<float> floats(const std::string& name) const {
    std::vector<float> out(static_cast<size_t>(file_.find(name).elements()));
    to_f32(file_.find(name), out.data());
    return out;
  }
  std::vector<int32_t> ints(const std::string& name) const {
    const StoredTensor& t = file_.find(name);
    EXPECT_EQ(t.dtype, StoredType::kI32);
    std::vector<int32_t> out(static_cast<size_t>(t.elements()));
    std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
    return out;
  }
  Tensor tensor(const std::string& name) const { return Tensor::from(floats(name), shape(name)); }
  Tensor leaf(const std::string& name) const { return tensor(name).set_requires_grad(); }
  Spans spans(const std::string& name) const {
    const std::vector<int32_t> lengths = ints(name);
    return Spans(std::vector<int64_t>(lengths.begin(), lengths.end()));
  }

  std::string setting(const std::string& name) const { return file_.metadata().at(name); }
  double number(const std::string& name) const { return std::stod(setting(name)); }
  int64_t integer(const std::string& name) const { return std::stoll(setting(name)); }
  bool flag(const std::string& name) const { return file_.metadata().contains(name) && setting(name) == "true"; }

  void expect(const std::vector<float>& found, const std::string& name, double tolerance = kTolerance) {
    const std::vector<float> expected = floats(name);
    ASSERT_EQ(found.size(), expected.size()) << name;
    EXPECT_LE(relative_error(found, expected), tolerance) << name;
    unchecked_.erase(name);
  }
  void expect(const Tensor& found, const std::string& name, double tolerance = kTolerance) {
    EXPECT_EQ(found.shape().str(), shape(name).str()) << name;
    expect(found.to_vector(), name, tolerance);
  }
  void expect_grad(const Tensor& leaf, const std::string& name) { expect(leaf.grad(), "grad." + name); }

 private:
  SafeTensors file_;
  std::set<std::string> unchecked_;
};

// Where a parameter lies in a tensor of theirs, both seen as matrices (vectors as columns).
struct Place {
  std::string theirs, ours;
  int64_t row = 0, column = 0;
};
using Places = std::vector<Place>;

class NameTable {
 public:
  explicit NameTable(Places places) : places_(std::move(places)) {}

  void load(const Golden& golden, const nn::Parameters& parameters) const {
    std::set<std::string> seen;
    for (const Place& p : places_) {
      seen.insert(p.ours);
      const std::vector<float> theirs = golden.floats(p.theirs);
      const Tensor& ours = parameters[p.ours];
      for (int64_t i = 0; i < ours.numel(); ++i)
        ours.data()[i] = theirs.at(index(p, golden.shape(p.theirs), ours.shape(), i));
    }
    for (const nn::Parameter& p : parameters.list())
      EXPECT_TRUE(seen.contains(p.name)) << p.name << " has no counterpart";
  }

  void expect_gradients(Golden& golden, const nn::Parameters& parameters) const {
    std::map<std::string, std::vector<float>> found;
    for (const Place& p : places_) {
      const std::string name = "grad." + p.theirs;
      std::vector<float>& whole = found[name];
      if (whole.empty()) whole.assign(golden.floats(name).size(), std::nanf(""));
      const Tensor ours = parameters[p.ours].grad();
      for (int64_t i = 0; i < ours.numel(); ++i)
        whole.at(index(p, golden.shape(name), ours.shape(), i)) = ours.data()[i];
    }
    for (const auto& [name, values] : found) golden.expect(values, name);
  }

 private:
  static int64_t width_of(const Shape& shape) { return shape.rank() < 2 ? 1 : shape[-1]; }

  // Where element i of ours lies in theirs; tensors of one size may differ in shape.
  static size_t index(const Place& p, const Shape& theirs, const Shape& ours, int64_t i) {
    if (theirs.numel() == ours.numel()) return static_cast<size_t>(i);
    const int64_t width = width_of(ours);
    return static_cast<size_t>((p.row + i / width) * width_of(theirs) + p.column + i % width);
  }

  Places places_;
};

inline void append(Places& to, const Places& more) { to.insert(to.end(), more.begin(), more.end()); }

// Both "weight" and, where there is one, "bias".
inline Places affine(const std::string& theirs, const std::string& ours, bool bias = true) {
  Places places{{theirs + ".weight", ours + ".weight"}};
  if (bias) places.push_back({theirs + ".bias", ours + ".bias"});
  return places;
}

// nn.MultiheadAttention: query, key and value stacked.
inline Places torch_attention(const std::string& theirs, const std::string& ours, int64_t d, bool bias = true) {
  Places places = affine(theirs + "out_proj", ours + "out_proj", bias);
  int64_t row = 0;
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    places.push_back({theirs + "in_proj_weight", ours + name + ".weight", row});
    if (bias) places.push_back({theirs + "in_proj_bias", ours + name + ".bias", row});
    row += d;
  }
  return places;
}

// nn.TransformerEncoderLayer and nn.TransformerDecoderLayer.
inline Places torch_layer(const std::string& theirs, const std::string& ours, int64_t d, bool decoder) {
  Places places = torch_attention(theirs + "self_attn.", ours + "self_attn.", d);
  append(places, affine(theirs + "linear1", ours + "feed_forward.up_proj"));
  append(places, affine(theirs + "linear2", ours + "feed_forward.down_proj"));
  append(places, affine(theirs + "norm1", ours + "self_attn_norm"));
  if (decoder) {
    append(places, torch_attention(theirs + "multihead_attn.", ours + "cross_attn.", d));
    append(places, affine(theirs + "norm2", ours + "cross_attn_norm"));
  }
  append(places, affine(theirs + (decoder ? "norm3" : "norm2"), ours + "feed_forward_norm"));
  return places;
}

// nn.TransformerEncoder and nn.TransformerDecoder with their last norm.
inline Places torch_stack(const std::string& theirs, const std::string& ours, int64_t d, int64_t layers, bool decoder) {
  Places places = affine(theirs + "norm", ours + "norm");
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    append(places, torch_layer(theirs + layer, ours + layer, d, decoder));
  }
  return places;
}

// GPT-2 as published: weights (in, out), query, key and value side by side.
inline Places gpt2_names(int64_t d, int64_t layers) {
  Places places{{"transformer.wte.weight", "embedding.weight"}, {"transformer.wpe.weight", "decoder.positions.weight"}};
  append(places, affine("transformer.ln_f", "decoder.norm"));
  for (int64_t i = 0; i < layers; ++i) {
    const std::string theirs = "transformer.h." + std::to_string(i) + ".",
                      ours = "decoder.layers." + std::to_string(i) + ".";
    int64_t at = 0;
    for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
      places.push_back({theirs + "attn.c_attn.weight", ours + "self_attn." + name + ".weight", 0, at});
      places.push_back({theirs + "attn.c_attn.bias", ours + "self_attn." + name + ".bias", at});
      at += d;
    }
    append(places, affine(theirs + "attn.c_proj", ours + "self_attn.out_proj"));
    append(places, affine(theirs + "mlp.c_fc", ours + "feed_forward.up_proj"));
    append(places, affine(theirs + "mlp.c_proj", ours + "feed_forward.down_proj"));
    append(places, affine(theirs + "ln_1", ours + "self_attn_norm"));
    append(places, affine(theirs + "ln_2", ours + "feed_forward_norm"));
  }
  return places;
}

inline Places llama_names(int64_t layers, bool tied) {
  Places places{{"model.embed_tokens.weight", "embedding.weight"}, {"model.norm.weight", "decoder.norm.weight"}};
  if (!tied) places.push_back({"lm_head.weight", "output.weight"});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string theirs = "model.layers." + std::to_string(i) + ".",
                      ours = "decoder.layers." + std::to_string(i) + ".";
    for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
      append(places, affine(theirs + "self_attn." + name, ours + "self_attn." + name, false));
    }
    append(places, affine(theirs + "self_attn.o_proj", ours + "self_attn.out_proj", false));
    for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
      append(places, affine(theirs + "mlp." + name, ours + "feed_forward." + name, false));
    }
    append(places, affine(theirs + "input_layernorm", ours + "self_attn_norm", false));
    append(places, affine(theirs + "post_attention_layernorm", ours + "feed_forward_norm", false));
  }
  return places;
}

inline kernels::Activation activation_of(const std::string& name) {
  const std::map<std::string, kernels::Activation> known{{"relu", kernels::Activation::kRelu},
                                                         {"gelu", kernels::Activation::kGelu},
                                                         {"gelu_tanh", kernels::Activation::kGeluTanh},
                                                         {"silu", kernels::Activation::kSilu}};
  return known.at(name);
}

// The stack that a fixture's settings describe.
inline nn::StackConfig stack_of(const Golden& golden, int64_t layers) {
  nn::StackConfig s;
  s.layers = layers;
  s.d_model = golden.integer("d_model");
  s.heads = golden.integer("heads");
  s.d_ff = golden.integer("d_ff");
  s.norm_eps = static_cast<float>(golden.number("eps"));
  s.norm_place = golden.flag("norm_first") ? nn::NormPlace::kPre : nn::NormPlace::kPost;
  s.final_norm = golden.flag("final_norm");
  s.activation = activation_of(golden.setting("activation"));
  return s;
}

}  // namespace heed::testing
