// What transformers generates from its own directories, and what its samplers leave of a distribution.
#include <gtest/gtest.h>

#include <cmath>

#include "heed/decode/generation.h"
#include "heed/models/directory.h"
#include "heed/models/golden.h"

namespace heed::decode {
namespace {

using heed::testing::Golden;

constexpr size_t kPrompts = 6;

struct Way {
  const char* name;
  GenerationSettings settings;
};

std::vector<GeneratedIds> generate(const models::Decoder& model, const std::vector<int32_t>& prompts,
                                   const GenerationSettings& settings) {
  Generation generation(model, generation_ids(model.config));
  const size_t length = prompts.size() / kPrompts;
  std::vector<GenerationRequest> requests;
  for (size_t i = 0; i < kPrompts; ++i) {
    const auto at = prompts.begin() + static_cast<int64_t>(i * length);
    requests.push_back(
        {.number = static_cast<int64_t>(i), .prompt = {at, at + static_cast<int64_t>(length)}, .settings = settings});
  }
  generation.join(requests);
  std::vector<GeneratedIds> all(kPrompts);
  while (generation.sequences() > 0) {
    for (GenerationAnswer& answer : generation.step()) all[static_cast<size_t>(answer.number)] = answer.best.at(0);
  }
  return all;
}

TEST(GenerationGolden, IdsAreTheirs) {
  const std::vector<Way> ways = {
      {"greedy", {.sampling = {.temperature = 0}, .max_tokens = 15}},
      {"penalty", {.sampling = {.temperature = 0, .repetition_penalty = 1.4}, .max_tokens = 15}},
      {"beam", {.max_tokens = 15, .beam = 4}},
      {"long_beam", {.max_tokens = 15, .beam = 3, .length_penalty = 2}},
      {"penalty_beam", {.sampling = {.repetition_penalty = 1.4}, .max_tokens = 15, .beam = 4}}};
  for (const std::string name : {"gpt2", "llama", "qwen2"}) {
    const Golden golden("generation/" + name);
    const models::Decoder model =
        models::load_decoder(std::string(HEED_SOURCE_DIR) + "/tests/golden/decoders/" + name, {.for_running = true});
    for (const Way& way : ways) {
      SCOPED_TRACE(name + " " + way.name);
      const std::string prefix = way.name;
      const std::vector<int32_t> ids = golden.ints(prefix + ".ids"), lengths = golden.ints(prefix + ".lengths"),
                                 ended = golden.ints(prefix + ".ended");
      const std::vector<float> scores = golden.floats(prefix + ".scores"), own = golden.floats(prefix + ".own");
      const std::vector<GeneratedIds> all = generate(model, golden.ints("input.prompts"), way.settings);
      auto at = ids.begin();
      for (size_t i = 0; i < kPrompts; ++i) {
        const std::vector<int32_t> expected(at, at + lengths[i]);
        at += lengths[i];
        EXPECT_EQ(all[i].ids, expected) << i;
        EXPECT_EQ(all[i].reason, ended[i] ? StopReason::kEnd : StopReason::kLength) << i;
        EXPECT_NEAR(all[i].log_probability, own[i], 1e-4) << i;  // by the model itself, whatever the penalties
        EXPECT_NEAR(way.settings.beam > 1 ? all[i].score : 0, scores[i], 1e-4) << i;
      }
    }
  }
}

TEST(GenerationGolden, DrawsFollowTheirDistribution) {
  const Golden golden("generation/sampling");
  const std::vector<float> logits = golden.floats("input.logits");
  const std::vector<int32_t> said = golden.ints("input.said");
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE(i);
    const std::string prefix = std::to_string(i);
    const std::vector<float> p = golden.floats(prefix + ".probability"), s = golden.floats(prefix + ".settings");
    const SamplingConfig config{.temperature = double{s[0]},
                                .top_k = static_cast<int64_t>(s[1]),
                                .top_p = double{s[2]},
                                .min_p = double{s[3]},
                                .repetition_penalty = 1.3};
    std::vector<float> changed = logits;
    change_logits(changed, config, {said, {}});
    constexpr uint32_t kDraws = 20000;
    std::vector<double> counts(p.size());
    for (uint32_t n = 0; n < kDraws; ++n) {
      counts[static_cast<size_t>(sample_token(changed, config, {7, 0, 0, n}).id)] += 1.0 / kDraws;
    }
    // What they cut is never drawn, and all else as often as they say.
    for (size_t id = 0; id < p.size(); ++id) {
      EXPECT_NEAR(counts[id], double{p[id]}, 5 * std::sqrt(double{p[id]} / kDraws)) << id;
    }
  }
}

}  // namespace
}  // namespace heed::decode
