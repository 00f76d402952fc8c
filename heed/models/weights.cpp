#include "heed/models/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>
#include <span>

#include "heed/base/error.h"
#include "heed/io/printable.h"

namespace heed::models {
namespace {

struct Replacement {
  const char *ours, *theirs;
};
// In this order: the longer names first.
constexpr Replacement kMarianParts[] = {
    {".self_attn_norm.", ".self_attn_layer_norm."},
    {".cross_attn_norm.", ".encoder_attn_layer_norm."},
    {".feed_forward_norm.", ".final_layer_norm."},
    {".cross_attn.", ".encoder_attn."},
    {".feed_forward.up_proj.", ".fc1."},
    {".feed_forward.down_proj.", ".fc2."},
};

std::string marian_layer_name(std::string name) {
  for (const Replacement& r : kMarianParts) {
    if (const size_t at = name.find(r.ours); at != std::string::npos) {
      name.replace(at, std::char_traits<char>::length(r.ours), r.theirs);
      break;
    }
  }
  return "model." + name;
}

std::string shape_text(const std::vector<int64_t>& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

std::vector<int64_t> sizes(const Shape& shape) {
  std::vector<int64_t> all;
  for (int i = 0; i < shape.rank(); ++i) all.push_back(shape[i]);
  return all;
}

// What is wrong with a file, gathered so that all of it can be said at once.
struct Faults {
  std::vector<std::string> missing, unexpected, misshapen;

  static std::string some(const char* what, const std::vector<std::string>& names) {
    constexpr size_t kShown = 5;
    const std::vector<std::string> shown(names.begin(),
                                         names.begin() + static_cast<int64_t>(std::min(kShown, names.size())));
    const std::string more = names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "";
    return fmt::format("; {} {}: {}{}", names.size(), what, fmt::join(shown, ", "), more);
  }
  void report(const std::string& where) const {
    std::string text;
    if (!missing.empty()) text += some("missing", missing);
    if (!unexpected.empty()) text += some("unexpected", unexpected);
    if (!misshapen.empty()) text += some("misshapen", misshapen);
    if (!text.empty()) fail_file("{}: the tensors are not those of the config{}", where, text);
  }
};

bool is_linear(const nn::Parameter& p) { return p.name.ends_with("_proj.weight"); }

void copy_turned(const StoredTensor& stored, const Tensor& to) {
  std::vector<float> rows(static_cast<size_t>(stored.elements()));
  to_f32(stored, rows.data());
  const int64_t in = to.size(0), out = to.size(1);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) to.data()[i * out + o] = rows[static_cast<size_t>(o * in + i)];
  }
}

// A parameter and the tensor that it is read from; null: none, it is zeros.
struct Match {
  Tensor tensor;
  const StoredTensor* stored;
  bool turned;
};

// One NaN in a weight makes every answer one. The largest bits without their sign are those of the worst number.
void check_numbers(const Match& m, const std::string& where) {
  constexpr uint32_t kInfinity = 0x7F800000, kWithoutSign = 0x7FFFFFFF;
  const std::span<const float> numbers(m.tensor.data(), static_cast<size_t>(m.tensor.numel()));
  uint32_t largest = 0;
  for (const float x : numbers) largest = std::max(largest, std::bit_cast<uint32_t>(x) & kWithoutSign);
  if (largest < kInfinity) return;
  fail_file("{}: {} holds {}, expected finite numbers", where, in_quotes(m.stored->name),
            std::bit_cast<float>(largest));
}

bool is_float(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF16 || type == StoredType::kBF16 || type == StoredType::kF64;
}

Match match(const SafeTensors& file, const nn::Parameter& p, const StoredAs& stored, bool turn, Faults& faults) {
  const auto name =
      std::find_if(stored.names.begin(), stored.names.end(), [&](const auto& n) { return file.contains(n); });
  if (name == stored.names.end()) {
    if (!stored.may_be_missing) faults.missing.push_back(stored.names[0]);
    return {p.tensor, nullptr, false};
  }
  const StoredTensor& tensor = file.find(*name);
  std::vector<int64_t> shape = sizes(p.tensor.shape());
  if (stored.leading_one) shape.insert(shape.begin(), 1);
  const bool turned = turn && is_linear(p);
  if (turned) std::reverse(shape.begin(), shape.end());
  if (tensor.shape != shape) {
    faults.misshapen.push_back(fmt::format("{} {}, expected {}", *name, shape_text(tensor.shape), shape_text(shape)));
  } else if (!is_float(tensor.dtype)) {
    faults.misshapen.push_back(
        fmt::format("{} of type {}, expected F32, F16, BF16 or F64", *name, name_of(tensor.dtype)));
  }
  return {p.tensor, &tensor, turned};
}

std::vector<Match> matches(const SafeTensors& file, const std::string& where, const nn::Parameters& parameters,
                           const WeightsLayout& layout) {
  Faults faults;
  std::set<std::string> expected(layout.ignored.begin(), layout.ignored.end());
  std::vector<Match> all;
  for (const nn::Parameter& p : parameters.list()) {
    const StoredAs stored = layout.naming(p.name);
    expected.insert(stored.names.begin(), stored.names.end());
    all.push_back(match(file, p, stored, layout.turn, faults));
  }
  for (const StoredTensor& tensor : file.tensors()) {
    if (!expected.count(tensor.name)) faults.unexpected.push_back(printable(tensor.name, 100));
  }
  faults.report(where);
  return all;
}

}  // namespace

Naming heed_names() {
  return [](const std::string& ours) { return StoredAs{{ours}}; };
}

Naming marian_names(const ModelConfig& config) {
  return [shared = config.share_source](const std::string& ours) -> StoredAs {
    if (ours == "shared.weight" && shared) {
      return {{"model.shared.weight", "lm_head.weight", "model.encoder.embed_tokens.weight",
               "model.decoder.embed_tokens.weight"}};
    }
    if (ours == "shared.weight") return {{"model.decoder.embed_tokens.weight", "lm_head.weight"}};
    if (ours == "source.weight") return {{"model.encoder.embed_tokens.weight"}};
    if (ours == "output_bias") return {{"final_logits_bias"}, true, true};
    if (ours == "encoder.positions.weight") return {{"model.encoder.embed_positions.weight"}};
    if (ours == "decoder.positions.weight") return {{"model.decoder.embed_positions.weight"}};
    return {{marian_layer_name(ours)}};
  };
}

void check_weights(const SafeTensors& file, const std::string& where, const nn::Parameters& parameters,
                   const WeightsLayout& layout) {
  static_cast<void>(matches(file, where, parameters, layout));
}

void read_weights(const SafeTensors& file, const std::string& where, const nn::Parameters& parameters,
                  const WeightsLayout& layout) {
  for (const Match& m : matches(file, where, parameters, layout)) {
    if (m.stored == nullptr) {
      std::fill_n(m.tensor.data(), m.tensor.numel(), 0.0f);
      continue;
    }
    if (m.turned) {
      copy_turned(*m.stored, m.tensor);
    } else {
      to_f32(*m.stored, m.tensor.data());
    }
    check_numbers(m, where);
  }
}

}  // namespace heed::models
