#include "heed/models/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "heed/base/error.h"
#include "heed/io/printable.h"
#include "heed/kernels/quantised.h"

namespace heed::models {
namespace {

using kernels::NumberType;
using kernels::tile_bytes;

std::string shape_text(const std::vector<int64_t>& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

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
  void report(const std::string& path) const {
    std::string text;
    if (!missing.empty()) text += some("missing", missing);
    if (!unexpected.empty()) text += some("unexpected", unexpected);
    if (!misshapen.empty()) text += some("misshapen", misshapen);
    if (!text.empty()) fail_file("[model] '{}': the tensors are not those of the config{}", path, text);
  }
};

bool is_linear(const nn::Parameter& p) { return p.name.ends_with("_proj.weight"); }

// A parameter seen as `out` outputs of `in` numbers each, and where they lie among those of a stored tensor. A tensor
// that is no linear map is one output a row.
struct Place {
  int64_t out = 1, in = 1;
  bool ours_in_out = false, theirs_in_out = false;
  int64_t part = 0, parts = 1;

  Place(const nn::Parameter& p, const StoredAs& stored, bool model_in_out)
      : ours_in_out(model_in_out && is_linear(p)),
        theirs_in_out(stored.in_out && is_linear(p)),
        part(stored.part),
        parts(stored.parts) {
    const Shape& shape = p.tensor.shape();
    if (shape.rank() > 0) out = shape[ours_in_out ? 1 : 0];
    if (shape.rank() > 1) in = shape[ours_in_out ? 0 : 1];
  }
  // Both in one order: a run of numbers is a copy of another.
  bool is_one_run() const { return ours_in_out == theirs_in_out && (parts == 1 || !theirs_in_out); }
  int64_t ours(int64_t o, int64_t i) const { return ours_in_out ? i * out + o : o * in + i; }
  int64_t theirs(int64_t o, int64_t i) const {
    return theirs_in_out ? i * out * parts + part * out + o : (part * out + o) * in + i;
  }
  // Small squares: one side is read across its rows, and stays in the cache meanwhile.
  template <class Visit>
  void each(Visit visit) const {
    constexpr int64_t kSide = 32;
    for (int64_t o0 = 0; o0 < out; o0 += kSide) {
      for (int64_t i0 = 0; i0 < in; i0 += kSide) {
        for (int64_t o = o0; o < std::min(out, o0 + kSide); ++o) {
          for (int64_t i = i0; i < std::min(in, i0 + kSide); ++i) visit(ours(o, i), theirs(o, i));
        }
      }
    }
  }
};

// What products and embeddings read, and nothing else.
bool is_matrix_of_products(const nn::Parameter& p) {
  return is_linear(p) || p.name == "embedding.weight" || p.name == "output.weight";
}

bool may_be_tiles(const nn::Parameter& p, const Place& place) {
  return is_matrix_of_products(p) && place.in % kernels::kGroup == 0 &&
         (place.parts == 1 || place.out % kernels::kTileOutputs == 0);
}

std::vector<int64_t> stored_shape(const nn::Parameter& p, const StoredAs& stored, const Place& place) {
  std::vector<int64_t> shape;
  if (stored.leading_one) shape.push_back(1);
  shape.push_back(place.out * place.parts);
  if (p.tensor.shape().rank() > 1) shape.push_back(place.in);
  if (place.theirs_in_out) std::reverse(shape.begin(), shape.end());
  return shape;
}

// What products read the tensor as; nothing where they cannot.
std::optional<NumberType> number_type(const StoredTensor& tensor) {
  if (is_tiles(tensor)) return tensor.shape[2] == tile_bytes(NumberType::kInt8) ? NumberType::kInt8 : NumberType::kInt4;
  if (tensor.dtype == StoredType::kF32) return NumberType::kF32;
  if (tensor.dtype == StoredType::kF16) return NumberType::kF16;
  if (tensor.dtype == StoredType::kBF16) return NumberType::kBf16;
  return std::nullopt;
}

// A parameter and the tensor that it is read from; null: none, it is zeros.
struct Match {
  const nn::Parameter* parameter;
  Tensor tensor;
  const StoredTensor* stored;
  Place place;
};

// The numbers of the tensor that was read last: q, k and v are read from one.
struct Unpacked {
  const StoredTensor* tensor = nullptr;
  std::vector<float> numbers;

  const float* of(const StoredTensor& stored) {
    if (tensor != &stored) {
      numbers.resize(static_cast<size_t>(stored.elements()));
      to_f32(stored, numbers.data());
      tensor = &stored;
    }
    return numbers.data();
  }
};

void read_tiles(const Match& m) {
  const Place& place = m.place;
  std::vector<float> row(static_cast<size_t>(place.in));
  const kernels::NumberTable table{m.stored->bytes.data(), place.in, 0, *number_type(*m.stored)};
  for (int64_t o = 0; o < place.out; ++o) {
    kernels::copy_row(row.data(), table, place.part * place.out + o);
    for (int64_t i = 0; i < place.in; ++i) m.tensor.data()[place.ours(o, i)] = row[static_cast<size_t>(i)];
  }
}

void read(const Match& m, Unpacked& unpacked) {
  if (is_tiles(*m.stored)) return read_tiles(m);
  const Place& place = m.place;
  if (place.is_one_run()) {
    StoredTensor run = *m.stored;
    const size_t bytes = run.bytes.size() / static_cast<size_t>(place.parts);
    run.bytes = run.bytes.subspan(static_cast<size_t>(place.part) * bytes, bytes);
    return to_f32(run, m.tensor.data());
  }
  const float* from = unpacked.of(*m.stored);
  place.each([to = m.tensor.data(), from](int64_t ours, int64_t theirs) { to[ours] = from[theirs]; });
}

// One NaN in a weight makes every answer one. The largest bits without their sign are those of the worst number.
void check_numbers(const Match& m, const std::string& path) {
  constexpr uint32_t kInfinity = 0x7F800000, kWithoutSign = 0x7FFFFFFF;
  const std::span<const float> numbers(m.tensor.data(), static_cast<size_t>(m.tensor.numel()));
  uint32_t largest = 0;
  for (const float x : numbers) largest = std::max(largest, std::bit_cast<uint32_t>(x) & kWithoutSign);
  if (largest < kInfinity) return;
  fail_file("[model] '{}': {} holds {}, expected finite numbers", path, in_quotes(m.stored->name),
            std::bit_cast<float>(largest));
}

bool is_float(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF16 || type == StoredType::kBF16 || type == StoredType::kF64;
}

Match match(const ShardedTensors& file, const nn::Parameter& p, const StoredAs& stored, bool model_in_out,
            Faults& faults) {
  Place place(p, stored, model_in_out);
  const auto name =
      std::find_if(stored.names.begin(), stored.names.end(), [&](const auto& n) { return file.find(n) != nullptr; });
  if (name == stored.names.end()) {
    if (!stored.may_be_missing && stored.part == 0) faults.missing.push_back(stored.names[0]);
    return {&p, p.tensor, nullptr, place};
  }
  const StoredTensor* tensor = file.find(*name);
  std::vector<int64_t> shape = stored_shape(p, stored, place);
  if (is_tiles(*tensor) && may_be_tiles(p, place)) {
    shape = tiles_shape(place.out * place.parts, place.in, tensor->shape[2]);
    place.theirs_in_out = false;
  }
  if (stored.part > 0) return {&p, p.tensor, tensor, place};  // said of the first part already
  if (tensor->shape != shape) {
    faults.misshapen.push_back(fmt::format("{} {}, expected {}", *name, shape_text(tensor->shape), shape_text(shape)));
  } else if (!is_float(tensor->dtype) && !is_tiles(*tensor)) {
    faults.misshapen.push_back(
        fmt::format("{} of type {}, expected F32, F16, BF16 or F64", *name, name_of(tensor->dtype)));
  }
  return {&p, p.tensor, tensor, place};
}

// The numbers where they lie, if products can read them there.
std::optional<StoredNumbers> in_file(const Match& m) {
  if (m.stored == nullptr || !is_matrix_of_products(*m.parameter)) return std::nullopt;
  const Place& place = m.place;
  const auto type = number_type(*m.stored);
  if (!type || place.ours_in_out != place.theirs_in_out) return std::nullopt;
  StoredNumbers numbers;
  numbers.type = *type;
  const std::byte* const first = m.stored->bytes.data();
  if (kernels::is_quantised(*type)) {
    numbers.data = first + place.part * kernels::quantised_bytes(*type, place.out, place.in);
    return numbers;
  }
  const int64_t size = size_of(m.stored->dtype);
  if (reinterpret_cast<uintptr_t>(first) % static_cast<uintptr_t>(size) != 0) return std::nullopt;
  numbers.ld = place.theirs_in_out ? place.out * place.parts : place.in;
  numbers.data = first + size * place.theirs(0, 0);
  return numbers;
}

std::vector<Match> matches(const ShardedTensors& file, const nn::Parameters& parameters, const WeightsLayout& layout) {
  Faults faults;
  std::set<std::string> expected;
  std::vector<Match> all;
  for (const nn::Parameter& p : parameters.list()) {
    const StoredAs stored = layout.naming(p.name);
    expected.insert(stored.names.begin(), stored.names.end());
    all.push_back(match(file, p, stored, layout.model_in_out, faults));
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (!expected.count(name) && !layout.ignored(name)) faults.unexpected.push_back(printable(name, 100));
  }
  faults.report(file.path());
  return all;
}

}  // namespace

Naming heed_names() {
  return [](const std::string& ours) { return StoredAs{{ours}}; };
}

StoredAs renamed(std::string ours, std::span<const NamePart> table) {
  StoredAs stored;
  for (const NamePart& p : table) {
    const size_t at = ours.find(p.ours);
    if (at == std::string::npos) continue;
    ours.replace(at, std::string_view(p.ours).size(), p.theirs);
    if (p.parts > 1) stored.part = p.part, stored.parts = p.parts;
  }
  stored.names = {std::move(ours)};
  return stored;
}

void check_weights(const ShardedTensors& file, const nn::Parameters& parameters, const WeightsLayout& layout) {
  static_cast<void>(matches(file, parameters, layout));
}

void read_weights(const ShardedTensors& file, const nn::Parameters& parameters, const WeightsLayout& layout) {
  Unpacked unpacked;
  for (const Match& m : matches(file, parameters, layout)) {
    if (m.tensor.stored()) continue;
    if (m.stored == nullptr) {
      std::fill_n(m.tensor.data(), m.tensor.numel(), 0.0f);
      continue;
    }
    read(m, unpacked);
    check_numbers(m, file.path());
  }
}

bool is_tiles(const StoredTensor& tensor) {
  return tensor.dtype == StoredType::kU8 && tensor.shape.size() == 3 &&
         (tensor.shape[2] == tile_bytes(NumberType::kInt8) || tensor.shape[2] == tile_bytes(NumberType::kInt4));
}

std::vector<int64_t> tiles_shape(int64_t out, int64_t in, int64_t tile_bytes) {
  return {kernels::tiles_across(out), in / kernels::kGroup, tile_bytes};
}

std::vector<MatrixInFile> matrices_of_products(const ShardedTensors& file, const nn::Parameters& parameters,
                                               const WeightsLayout& layout) {
  std::vector<MatrixInFile> all;
  for (const Match& m : matches(file, parameters, layout)) {
    const Place& place = m.place;
    if (m.stored == nullptr || !is_matrix_of_products(*m.parameter)) continue;
    if (place.part > 0) {
      all.back().parameters.push_back(m.parameter->name);
      continue;
    }
    all.push_back({m.stored,
                   place.out * place.parts,
                   place.in,
                   place.theirs_in_out,
                   !is_linear(*m.parameter),
                   may_be_tiles(*m.parameter, place),
                   {m.parameter->name}});
  }
  return all;
}

void leave_stored(const std::shared_ptr<const ShardedTensors>& file, const nn::Parameters& parameters,
                  const WeightsLayout& layout, Leave leave, bool in_halves) {
  for (const Match& m : matches(*file, parameters, layout)) {
    auto numbers = in_file(m);
    if (numbers && (leave == Leave::kAll || !kernels::is_quantised(numbers->type))) {
      numbers->owner = file;
      numbers->in_halves = in_halves && m.place.theirs_in_out;
      Tensor(m.tensor).set_stored(std::move(*numbers));
    }
  }
}

bool stored_in_out(const ShardedTensors& file, const nn::Parameters& parameters, const WeightsLayout& layout) {
  const std::vector<Match> all = matches(file, parameters, layout);
  return std::any_of(all.begin(), all.end(), [](const Match& m) { return m.place.theirs_in_out; }) &&
         std::none_of(all.begin(), all.end(), [](const Match& m) { return m.stored && is_tiles(*m.stored); });
}

void TensorsToWrite::add(const std::string& name, std::vector<int64_t> shape, const float* numbers) {
  size_t n = 1;
  for (const int64_t size : shape) n *= static_cast<size_t>(size);
  list_.push_back({name, StoredType::kF32, std::move(shape), std::as_bytes(std::span(numbers, n))});
}

void TensorsToWrite::add(const std::string& name, std::vector<int64_t> shape, std::vector<float> numbers) {
  add(name, std::move(shape), owned_.emplace_back(std::move(numbers)).data());
}

void TensorsToWrite::add(const nn::Parameters& parameters, const WeightsLayout& layout) {
  std::map<std::string, float*> gathered;  // those that several parameters, or turned ones, are written into
  for (const nn::Parameter& p : parameters.list()) {
    const StoredAs stored = layout.naming(p.name);
    const Place place(p, stored, layout.model_in_out);
    std::vector<int64_t> shape = stored_shape(p, stored, place);
    const std::string& name = stored.names[0];
    if (place.parts == 1 && place.is_one_run()) {
      add(name, std::move(shape), p.tensor.data());
      continue;
    }
    if (!gathered.contains(name)) {
      gathered[name] = owned_.emplace_back(static_cast<size_t>(p.tensor.numel() * place.parts)).data();
      add(name, std::move(shape), gathered[name]);
    }
    float* to = gathered[name];
    place.each([to, from = p.tensor.data()](int64_t ours, int64_t theirs) { to[theirs] = from[ours]; });
  }
}

}  // namespace heed::models
