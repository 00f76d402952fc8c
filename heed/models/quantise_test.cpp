// Language models whose weights stay in the file, as published and in 8 and 4 bits.
#include "heed/models/quantise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/io/test_stored.h"
#include "heed/models/test_directories.h"
#include "heed/nn/config.h"

namespace heed::models {
namespace {

using nlohmann::json;

// GPT-2 stores (in, out) and three maps in one; LLaMA (out, in), without biases and with an output of its own.
ModelConfig small(bool gpt2) {
  ModelConfig c;
  c.family = Family::kDecoder;
  c.vocabulary = 90;
  c.scale_embedding = false;
  c.tie_embeddings = gpt2;
  nn::StackConfig& s = c.decoder;
  s.layers = 2, s.d_model = 64, s.heads = 4, s.d_ff = 96;
  s.norm_place = nn::NormPlace::kPre;
  s.final_norm = true;
  s.positions.max_length = 40;
  s.init_deviation = 0.08f;
  if (gpt2) {
    s.positions.kind = nn::PositionKind::kLearned;
    s.activation = kernels::Activation::kGeluTanh;
  } else {
    s.norm = nn::NormKind::kRms;
    s.norm_bias = s.bias = false;
    s.gated = true;
    s.kv_heads = 2;
    s.activation = kernels::Activation::kSilu;
    s.positions.kind = nn::PositionKind::kRotary;
  }
  return c;
}

struct Saved {
  explicit Saved(bool gpt2, StoredType type = StoredType::kF32) {
    save_decoder(folder.file("."), Decoder(small(gpt2)));
    if (type != StoredType::kF32) store_in_16_bits(folder.file("model.safetensors"), type);
  }
  std::string path() const { return folder.file("."); }
  TemporaryFolder folder;
};

Quantisation quantise_folder(const std::string& from, const std::string& to, const QuantiseOptions& options) {
  const QuantisedModel model(from, options);
  model.save(to);
  return model.report();
}

Tensor logits_of(const Decoder& model, int64_t tokens = 12) {
  const NoGrad no_grad;
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < tokens; ++i) ids.push_back(static_cast<int32_t>(i * 31 % 90));
  return model.logits({ids, Spans::dense(1, tokens)}, {});
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.numel(), b.numel());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.numel()) * sizeof(float)), 0);
}

TEST(Stored, TheSameBitsAsReadIntoMemory) {
  for (const bool gpt2 : {true, false}) {
    for (const StoredType type : {StoredType::kF32, StoredType::kF16, StoredType::kBF16}) {
      SCOPED_TRACE(::testing::Message() << (gpt2 ? "gpt2 " : "llama ") << name_of(type));
      const Saved saved(gpt2, type);
      const Decoder read = load_decoder(saved.path()), stored = load_decoder(saved.path(), {.as_stored = true});
      for (const int64_t tokens : {1, 2, 12}) expect_same_bits(logits_of(stored, tokens), logits_of(read, tokens));
      // Matrices took no memory.
      EXPECT_LT(stored.parameters.arena_size(), read.parameters.count() / 5);
      EXPECT_EQ(stored.parameters.count(), read.parameters.count());
      EXPECT_THROW(save_decoder(saved.path(), stored), Error);
    }
  }
}

// GPT-2's files have (in, out) matrices. However many tokens are asked for, the bits of the first are the same.
TEST(Stored, InHalvesNearlyTheSame) {
  for (const StoredType type : {StoredType::kF32, StoredType::kF16, StoredType::kBF16}) {
    const Saved saved(true, type);
    const Decoder exact = load_decoder(saved.path(), {.as_stored = true});
    const Decoder halves = load_decoder(saved.path(), {.as_stored = true, .in_halves = true});
    const Tensor expected = logits_of(exact, 40), found = logits_of(halves, 40);
    EXPECT_NE(std::memcmp(expected.data(), found.data(), static_cast<size_t>(found.numel()) * sizeof(float)), 0);
    for (int64_t i = 0; i < found.numel(); ++i) ASSERT_NEAR(found.data()[i], expected.data()[i], 2e-6);
    for (const int64_t tokens : {1, 2, 5, 12}) {
      const Tensor some = logits_of(halves, tokens);
      EXPECT_EQ(std::memcmp(some.data(), found.data(), static_cast<size_t>(some.numel()) * sizeof(float)), 0);
    }
    for (const int threads : {1, 3}) {
      const int before = num_threads();
      set_num_threads(threads);
      expect_same_bits(logits_of(halves, 40), found);
      set_num_threads(before);
    }
  }
}

double difference(const Tensor& a, const Tensor& b) {
  double error = 0, size = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    error += std::pow(double{a.data()[i]} - b.data()[i], 2);
    size += double{b.data()[i]} * b.data()[i];
  }
  return std::sqrt(error / size);
}

TEST(Quantise, AQuantisedModelComputesNearlyTheSame) {
  for (const bool gpt2 : {true, false}) {
    const Saved saved(gpt2);
    const Tensor exact = logits_of(load_decoder(saved.path()));
    double before = 0;
    for (const int64_t bits : {8, 4}) {
      SCOPED_TRACE(::testing::Message() << (gpt2 ? "gpt2 " : "llama ") << bits);
      const TemporaryFolder to;
      const Quantisation done = quantise_folder(saved.path(), to.file("."), {.bits = bits});
      EXPECT_EQ(done.matrices.size(), gpt2 ? 9u : 16u);  // q, k and v of GPT-2 are one tensor
      EXPECT_TRUE(done.kept.empty());
      EXPECT_LT(done.bytes_after, done.bytes_before / (bits == 8 ? 3 : 4));
      const double most = bits == 8 ? 0.008 : 0.11;  // what a normal distribution loses to so few steps
      for (const QuantisedMatrix& m : done.matrices) {
        EXPECT_LT(std::sqrt(m.squared_error / m.squared_size), most) << m.name;
      }
      // In memory as the numbers they stand for, and multiplied as they are.
      const Tensor read = logits_of(load_decoder(to.file(".")));
      const Decoder stored = load_decoder(to.file("."), {.as_stored = true});
      const Tensor direct = logits_of(stored);
      EXPECT_LT(difference(read, exact), 3 * most);  // nine products in a row: independent errors grow as the root
      EXPECT_LT(difference(direct, read), 0.02);
      EXPECT_GT(difference(direct, exact), before);
      before = difference(direct, exact);
      // One row is computed as many are.
      const Tensor one = logits_of(stored, 1);
      EXPECT_EQ(std::memcmp(one.data(), logits_of(stored, 12).data(), static_cast<size_t>(one.numel()) * sizeof(float)),
                0);
      EXPECT_EQ(json::parse(content_of(to.file("config.json")))["quantization_config"]["quant_method"], "heed");
      EXPECT_NE(message_of([&] { QuantisedModel(to.file("."), {.bits = bits}); }).find("quantised already"),
                std::string::npos);
    }
  }
}

std::vector<std::vector<int32_t>> random_texts(size_t texts, uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<int32_t>> all(texts);
  for (std::vector<int32_t>& text : all) {
    for (size_t i = 0; i < 5 + random.below(36); ++i) text.push_back(static_cast<int32_t>(random.below(90)));
  }
  return all;
}

// How far the quantised model is from the exact one on texts that it was not calibrated with.
double distance(const std::string& exact, const std::string& quantised) {
  const NoGrad no_grad;
  TokenBatch batch;
  std::vector<int64_t> lengths;
  for (const std::vector<int32_t>& text : random_texts(20, 99)) {
    batch.ids.insert(batch.ids.end(), text.begin(), text.end());
    lengths.push_back(static_cast<int64_t>(text.size()));
  }
  batch.spans = Spans(lengths);
  return difference(load_decoder(quantised, {.as_stored = true}).logits(batch, {}),
                    load_decoder(exact).logits(batch, {}));
}

TEST(Quantise, CalibratedWeightsChangeTheOutputLess) {
  for (const bool gpt2 : {true, false}) {
    SCOPED_TRACE(gpt2 ? "gpt2" : "llama");
    const Saved saved(gpt2);
    const TemporaryFolder plain, calibrated;
    quantise_folder(saved.path(), plain.file("."), {.bits = 4});
    std::vector<double> shares;
    const Quantisation done = quantise_folder(saved.path(), calibrated.file("."),
                                              {.bits = 4,
                                               .texts = [] { return random_texts(150, 1); },
                                               .on_progress = [&](double s) { shares.push_back(s); }});
    EXPECT_LT(distance(saved.path(), calibrated.file(".")), 0.85 * distance(saved.path(), plain.file(".")));
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_EQ(shares.back(), 1);
    for (const QuantisedMatrix& m : done.matrices) {
      const bool eight = m.name.find("v_proj") != std::string::npos || m.name.find("emb") != std::string::npos ||
                         m.name.find("wte") != std::string::npos || m.name.find("lm_head") != std::string::npos;
      EXPECT_EQ(m.type, eight ? kernels::NumberType::kInt8 : kernels::NumberType::kInt4) << m.name;
    }
  }
}

TEST(Quantise, CalibrationGivesTheSameBitsAtAnyNumberOfThreads) {
  const Saved saved(true);
  const int before = num_threads();
  std::vector<std::string> files;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const TemporaryFolder to;
    quantise_folder(saved.path(), to.file("."), {.bits = 4, .texts = [] { return random_texts(100, 1); }});
    files.push_back(content_of(to.file("model.safetensors")));
  }
  set_num_threads(before);
  EXPECT_EQ(files[0], files[1]);
}

// Told before anything is drawn, computed or written, whichever way the weights would be rounded.
TEST(Quantise, WeightsThatAreNotFiniteAreRefused) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::string name = "model.layers.1.mlp.up_proj.weight";
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    const TemporaryFolder folder;
    const Decoder model(small(false));
    model.parameters["decoder.layers.1.feed_forward.up_proj.weight"].data()[70] = bad;
    save_decoder(folder.file("."), model);
    for (const int64_t bits : {8, 4}) {
      bool asked = false;
      const auto texts = [&] {
        asked = true;
        return random_texts(10, 1);
      };
      const std::string message = message_of([&] { QuantisedModel(folder.file("."), {.bits = bits, .texts = texts}); });
      EXPECT_EQ(message, "[quantize] '" + name + "' has weights that are no finite numbers");
      EXPECT_FALSE(asked);
    }
  }
}

// Sizes that are no multiple of a group stay as they are.
TEST(Quantise, OddSizesAreKept) {
  ModelConfig config = small(true);
  config.decoder.d_ff = 100;
  const TemporaryFolder from, to;
  save_decoder(from.file("."), Decoder(config));
  for (const int64_t bits : {4, 8}) {
    const Quantisation done =
        quantise_folder(from.file("."), to.file("."), {.bits = bits, .texts = [] { return random_texts(10, 1); }});
    EXPECT_EQ(done.kept.size(), 2u);  // what takes 100 inputs, in each layer
  }
  const Tensor exact = logits_of(load_decoder(from.file(".")));
  EXPECT_LT(difference(logits_of(load_decoder(to.file("."), {.as_stored = true})), exact), 0.02);
}

TEST(Quantise, DamagedTilesAreRefused) {
  const Saved saved(false);
  const TemporaryFolder to;
  quantise_folder(saved.path(), to.file("."), {.bits = 8});
  const std::string bytes = content_of(to.file("model.safetensors"));
  const SafeTensors file = SafeTensors::parse(std::as_bytes(std::span(bytes)), "copy");
  for (const int damage : {0, 1, 2}) {
    std::vector<TensorToWrite> tensors;
    for (const StoredTensor& t : file.tensors()) {
      TensorToWrite w{t.name, t.dtype, t.shape, t.bytes};
      if (t.name == "model.layers.0.mlp.up_proj.weight") {
        if (damage == 0) w.shape[0] -= 1, w.data = w.data.first(w.data.size() / t.shape[0] * w.shape[0]);
        if (damage == 1) w.shape = {t.shape[0], t.shape[1] * t.shape[2]};
        if (damage == 2) std::swap(w.shape[0], w.shape[1]);
      }
      tensors.push_back(std::move(w));
    }
    write_safetensors(to.file("model.safetensors"), tensors);
    for (const bool as_stored : {false, true}) {
      const std::string message = message_of([&] { load_decoder(to.file("."), {.as_stored = as_stored}); });
      EXPECT_NE(message.find("1 misshapen: model.layers.0.mlp.up_proj.weight"), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace heed::models
