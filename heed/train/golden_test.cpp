// Optimizer steps and loss curves of whole models against PyTorch.
#include "heed/models/golden.h"

#include <optional>

#include "heed/models/decoder.h"
#include "heed/models/encoder_decoder.h"
#include "heed/train/optimizer.h"

namespace heed::train {
namespace {

using testing::Golden;
using testing::NameTable;
using testing::Places;

OptimizerConfig optimizer_config(const Golden& g, OptimizerKind kind, const std::string& eps_name) {
  OptimizerConfig config;
  config.kind = kind;
  config.weight_decay = g.number("weight_decay");
  config.clip_norm = static_cast<float>(g.number("clip"));
  config.decay_matrices_only = false;
  if (kind == OptimizerKind::kSgd) {
    config.momentum = static_cast<float>(g.number("momentum"));
  } else {
    config.beta1 = g.number("beta1");
    config.beta2 = g.number("beta2");
    config.eps = g.number(eps_name);
  }
  return config;
}

struct NamedKind {
  const char* name;
  OptimizerKind kind;
};

TEST(GoldenTraining, OptimizerSteps) {
  for (const NamedKind& k :
       {NamedKind{"adam", OptimizerKind::kAdam}, {"adamw", OptimizerKind::kAdamW}, {"sgd", OptimizerKind::kSgd}}) {
    SCOPED_TRACE(k.name);
    Golden g(std::string("optimizer_") + k.name);
    nn::Parameters parameters;
    const Tensor w = parameters.declare("w", g.shape("input.w"), nn::Init::zeros());
    parameters.allocate(1);
    NameTable(Places{{"input.w", "w"}}).load(g, parameters);
    Optimizer optimizer(parameters, optimizer_config(g, k.kind, "eps"));
    const Tensor gradients = g.tensor("input.gradients");
    std::vector<float> norms, weights;
    for (int32_t step = 0; step < 3; ++step) {
      const std::vector<int32_t> row{step};
      sum(w * select_rows(gradients, row)).backward();
      norms.push_back(static_cast<float>(optimizer.step(g.number("lr"))));
      for (const float x : w.to_vector()) weights.push_back(x);
    }
    g.expect(norms, "norms");
    g.expect(weights, "weights");
  }
}

// Twenty losses, each taken before its step.
template <class LossOf>
void expect_curve(Golden& g, const nn::Parameters& parameters, const OptimizerConfig& config, const std::string& name,
                  LossOf loss_of) {
  Optimizer optimizer(parameters, config);
  std::vector<float> losses;
  for (int64_t step = 0; step < g.integer("steps"); ++step) {
    const LossResult r = loss_of();
    losses.push_back(r.loss.item());
    r.loss.backward();
    optimizer.step(g.number("lr"));
  }
  const std::vector<float> expected = g.floats(name);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-4 * expected[i]) << "step " << i;
  EXPECT_LT(losses.back(), losses.front());
}

TEST(GoldenTraining, TranslatorCurves) {
  for (const char* name : {"curve_translator", "curve_translator_tied"}) {
    SCOPED_TRACE(name);
    Golden g(name);
    const bool tied = g.flag("tied");
    models::ModelConfig config;
    config.encoder = config.decoder = testing::stack_of(g, 2);
    config.vocabulary = config.source_vocabulary = g.integer("vocabulary");
    config.tie_embeddings = config.share_source = tied;
    const models::EncoderDecoder model(config);
    Places places = testing::torch_stack("transformer.encoder.", "encoder.", 16, 2, false);
    append(places, testing::torch_stack("transformer.decoder.", "decoder.", 16, 2, true));
    places.push_back({"src_embed.weight", tied ? "shared.weight" : "source.weight"});
    if (!tied) append(places, {{"tgt_embed.weight", "shared.weight"}, {"generator.weight", "output.weight"}});
    const NameTable table(places);
    table.load(g, model.parameters);
    const models::PairBatch batch{{g.ints("input.src_ids"), g.spans("input.src_lengths")},
                                  {g.ints("input.tgt_in_ids"), g.spans("input.tgt_lengths")},
                                  g.ints("input.tgt_out_ids")};
    g.expect(model.logits(batch, {}), "logits");
    const auto loss_of = [&] { return model.loss(batch, {.smoothing = 0.1f}, {}); };
    const LossResult first = loss_of();
    g.expect(std::vector<float>{first.loss.item()}, "loss");
    first.loss.backward();
    table.expect_gradients(g, model.parameters);
    model.parameters.clear_gradients();
    expect_curve(g, model.parameters, optimizer_config(g, OptimizerKind::kAdam, "adam_eps"), "losses", loss_of);
  }
}

TEST(GoldenTraining, Gpt2Curves) {
  for (const bool matrices_only : {false, true}) {
    SCOPED_TRACE(matrices_only);
    Golden g("curve_gpt2");
    models::ModelConfig config;
    config.family = models::Family::kDecoder;
    config.decoder = testing::stack_of(g, g.integer("layers"));
    config.decoder.final_norm = true;
    config.decoder.weights_in_out = true;
    config.decoder.positions = {.kind = nn::PositionKind::kLearned, .max_length = g.integer("context")};
    config.vocabulary = g.integer("vocabulary");
    config.scale_embedding = false;
    const models::Decoder model(config);
    NameTable(testing::gpt2_names(32, 2)).load(g, model.parameters);
    const Shape shape = g.shape("input.ids");
    const models::TokenBatch batch{g.ints("input.ids"), Spans::dense(shape[0], shape[1])};
    const std::vector<int32_t> targets = g.ints("input.targets");
    OptimizerConfig optimizer = optimizer_config(g, OptimizerKind::kAdamW, "adam_eps");
    optimizer.decay_matrices_only = matrices_only;
    expect_curve(g, model.parameters, optimizer, matrices_only ? "losses_matrix_decay" : "losses",
                 [&] { return model.loss(batch, targets, {}, {}); });
  }
}

}  // namespace
}  // namespace heed::train
