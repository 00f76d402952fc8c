#include "heed/models/calibration.h"

#include "heed/base/error.h"
#include "heed/kernels/quantised.h"
#include "heed/models/directory.h"
#include "heed/nn/trace.h"

namespace heed::models {
namespace {

constexpr size_t kPartTokens = 2048;  // that run together
constexpr std::string_view kWeight = ".weight";

Tensor run(const Decoder& model, size_t block, const Tensor& x, const Spans& spans, nn::Trace* trace = nullptr) {
  nn::Context context;
  context.trace = trace;
  return model.stack.blocks[block].forward(x, {.x = {}, .spans = spans, .causal = true}, model.stack.positions,
                                           context);
}

LinearWeight& map_of(nn::EncoderBlock& block, const std::string& weight) {
  const std::string name = weight.substr(block.path.size(), weight.size() - block.path.size() - kWeight.size());
  if (name == ".self_attn.q_proj") return block.self_attn.in[0];
  if (name == ".self_attn.k_proj") return block.self_attn.in[1];
  if (name == ".self_attn.v_proj") return block.self_attn.in[2];
  if (name == ".self_attn.out_proj") return block.self_attn.out.map;
  if (name == ".feed_forward.gate_proj") return block.feed_forward.gate_map.map;
  if (name == ".feed_forward.up_proj") return block.feed_forward.up.map;
  if (name == ".feed_forward.down_proj") return block.feed_forward.down.map;
  fail("[quantize] no linear map '{}'", weight);
}

// sum += a^T b, of rows of tokens
void add_products(std::vector<float>& sum, const Tensor& a, const Tensor& b) {
  const int64_t n = b.cols();
  sum.resize(static_cast<size_t>(a.cols() * n));
  kernels::gemm({.M = a.cols(),
                 .N = n,
                 .K = a.rows(),
                 .a = {a.data(), a.ld(), true},
                 .b = {b.data(), b.ld()},
                 .c = sum.data(),
                 .ldc = n,
                 .accumulate = true});
}

}  // namespace

Calibration::Calibration(const std::string& folder, const std::vector<std::vector<int32_t>>& texts)
    : exact_(load_decoder(folder, {.as_stored = true})), quantised_(load_decoder(folder, {.as_stored = true})) {
  const NoGrad no_grad;
  TokenBatch batch;
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < texts.size(); ++i) {
    batch.ids.insert(batch.ids.end(), texts[i].begin(), texts[i].end());
    lengths.push_back(static_cast<int64_t>(texts[i].size()));
    if (batch.ids.size() < kPartTokens && i + 1 < texts.size()) continue;
    batch.spans = Spans(lengths);
    const Tensor x = exact_.token_embedding(batch, exact_.stack.positions, {});
    parts_.push_back({batch.spans, x, x});
    batch = {}, lengths.clear();
  }
  for (const nn::EncoderBlock& block : exact_.stack.blocks) add_stages(block);
}

void Calibration::add_stages(const nn::EncoderBlock& block) {
  const auto add = [&](const std::string& in, const std::string& input, std::initializer_list<const char*> maps) {
    Stage& stage = stages_.emplace_back();
    stage.block = static_cast<size_t>(block.number);
    stage.input = block.path + in + input;
    for (const char* map : maps) stage.weights.push_back(block.path + in + "." + map + std::string(kWeight));
  };
  const auto is_sum = [](const nn::SubLayer& layer) {
    return layer.norm_place == nn::NormPlace::kPre && layer.with_residual;
  };
  if (block.with_attention) {
    add(".self_attn", ".input", {"q_proj", "k_proj", "v_proj"});
    add(".self_attn", ".merged", {"out_proj"});
    if (is_sum(block.self_attn_layer)) stages_.back().adds = Stage::kAttention;
  }
  if (block.with_feed_forward) {
    add(".feed_forward", ".input", {"gate_proj", "up_proj"});
    add(".feed_forward", ".hidden", {"down_proj"});
    if (is_sum(block.feed_forward_layer)) stages_.back().adds = Stage::kFeedForward;
  }
}

Calibration::Seen Calibration::look(const Decoder& model, const Stage& stage, const Tensor& x, const Spans& spans) {
  const std::string added = model.stack.blocks[stage.block].self_attn.path + ".output";
  nn::Trace trace({stage.input, added});
  const Tensor y = run(model, stage.block, x, spans, &trace);
  Seen seen{trace.all_rows(stage.input), {}};
  if (stage.adds == Stage::kAttention) seen.sum = x + trace.all_rows(added);
  if (stage.adds == Stage::kFeedForward) seen.sum = y;
  return seen;
}

kernels::InputMoments Calibration::moments(const Stage& stage, const std::function<void(double)>& on_part) const {
  const NoGrad no_grad;
  kernels::InputMoments m;
  m.of_outputs = stage.adds != Stage::kNone;
  for (const Part& part : parts_) {
    const Seen wanted = look(exact_, stage, part.exact, part.spans),
               found = look(quantised_, stage, part.quantised, part.spans);
    m.in = found.input.cols();
    add_products(m.h, found.input, found.input);
    add_products(m.missing, m.of_outputs ? wanted.sum - found.sum : wanted.input - found.input, found.input);
    if (on_part) on_part(static_cast<double>(&part - parts_.data() + 1) / static_cast<double>(parts_.size()));
  }
  return m;
}

void Calibration::replace(const Stage& stage, const std::vector<std::string>& weights,
                          const std::shared_ptr<const Tiles>& tiles) {
  const uint8_t* at = tiles->bytes.data();
  for (const std::string& weight : weights) {
    LinearWeight& map = map_of(quantised_.stack.blocks[stage.block], weight);
    const int64_t out = map.out(), in = map.in();
    Tensor turned = Tensor::view_of(Buffer(), 0, {out, in});
    turned.set_stored({at, 0, tiles->type, tiles});
    map.weight = turned;
    map.layout = WeightLayout::kOutIn;
    at += kernels::quantised_bytes(tiles->type, out, in);
  }
}

void Calibration::pass(size_t block) {
  const NoGrad no_grad;
  for (Part& part : parts_) {
    part.exact = run(exact_, block, part.exact, part.spans);
    part.quantised = run(quantised_, block, part.quantised, part.spans);
  }
}

}  // namespace heed::models
