// heed bench translate: tokens a second of a translator that writes a fixed number of tokens for each sentence.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/cli/arguments.h"
#include "heed/cli/bench.h"
#include "heed/cli/measure.h"
#include "heed/decode/stream.h"
#include "heed/models/directory.h"

namespace heed::cli {
namespace {

struct Options {
  std::string preset = "base", model;
  int64_t batch = 32, source = 20, tokens = 20, beam = 1;
  double seconds = 5;
};

models::ModelConfig config_of(const Options& o) {
  if (!o.model.empty()) return models::read_config(o.model);
  models::ModelConfig config = models::preset(o.preset);
  if (config.family != models::Family::kEncoderDecoder)
    fail("[bench translate] preset '{}' is no translator", o.preset);
  config.encoder.weights_in_out = config.decoder.weights_in_out = true;
  return config;
}

models::EncoderDecoder model_of(const Options& o, const models::ModelConfig& config) {
  return o.model.empty() ? models::EncoderDecoder(config, 1) : models::load_translator(o.model, {.for_running = true});
}

// Before a weight is read: keys and values of the source once, and of each hypothesis' tokens.
void check_lengths(const Options& o, const models::ModelConfig& config) {
  const nn::StackConfig& stack = config.decoder;
  const int64_t row = stack.layers * 2 * stack.key_heads() * stack.head_size();
  check_room(fmt::format("[bench translate] --batch {} --source {} --tokens {} --beam {}", o.batch, o.source, o.tokens,
                         o.beam),
             o.batch * (o.source + o.beam * o.tokens) * row * static_cast<int64_t>(sizeof(float)));
}

std::vector<decode::Request> sentences(const Options& o, int64_t vocabulary) {
  Random random(1);
  std::vector<decode::Request> requests;
  for (int64_t i = 0; i < o.batch; ++i) {
    decode::Request request{.number = i, .source = {}};
    for (int64_t t = 1; t < o.source; ++t) {
      request.source.push_back(3 + static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary - 3))));
    }
    request.source.push_back(0);
    requests.push_back(std::move(request));
  }
  return requests;
}

void translate(const models::EncoderDecoder& model, const Options& o, const std::vector<decode::Request>& requests) {
  decode::DecodeIds ids = decode::decode_ids(model.config);
  ids.never.push_back(ids.eos);  // every sentence gets all its tokens
  decode::Translation translation(model, {.beam = o.beam, .max_length = o.tokens}, ids);
  translation.join(requests);
  while (translation.sentences() > 0) translation.step();
}

}  // namespace

void add_bench_translate(CLI::App& bench, const Common& common) {
  CLI::App* app =
      add_command(bench, "translate", "tokens a second of a translator", "heed bench translate --beam 4 --json");
  const auto o = std::make_shared<Options>();
  add_choice(app, "--preset", o->preset, {"tiny", "base"}, "base without it");
  add_text(app, "--model", o->model, "a model directory instead", "MODEL");
  add_whole(app, "--batch", o->batch, {1, 4096}, "sentences at once; 32 without it");
  add_whole(app, "--source", o->source, {1, 4096}, "tokens of each; 20 without it");
  add_whole(app, "--tokens", o->tokens, {1, 4096}, "tokens of each translation; 20 without it");
  add_whole(app, "--beam", o->beam, {1, 64}, "1 without it");
  add_number(app, "--seconds", o->seconds, {0.1, 3600}, "how long to measure; 5 without it");
  on_run(app, [app, o, &common] {
    if (!o->model.empty()) expect_absent(app, {"--preset"}, "--model");
    const models::ModelConfig config = config_of(*o);
    check_lengths(*o, config);
    const models::EncoderDecoder model = model_of(*o, config);
    const std::vector<decode::Request> requests = sentences(*o, model.config.source_vocabulary);
    std::vector<double> seconds;
    const double start = now_seconds();
    translate(model, *o, requests);  // warms up
    while (seconds.size() < 3 || now_seconds() - start < o->seconds) {
      const double before = now_seconds();
      translate(model, *o, requests);
      seconds.push_back(now_seconds() - before);
    }
    const double best = *std::min_element(seconds.begin(), seconds.end()),
                 tokens = static_cast<double>(o->batch * o->tokens);
    const nlohmann::json j{{"bench", "translate"},
                           {"batch", o->batch},
                           {"source", o->source},
                           {"tokens", o->tokens},
                           {"beam", o->beam},
                           {"threads", num_threads()},
                           {"ms", {{"best", 1e3 * best}, {"median", 1e3 * median(seconds)}}},
                           {"tokens_per_second", {{"best", tokens / best}, {"median", tokens / median(seconds)}}}};
    print(common.json ? j.dump() + "\n"
                      : fmt::format("{} sentences of {} tokens, beam {}: {:.0f} tokens/s, {:.1f} ms\n", o->batch,
                                    o->source, o->beam, tokens / best, 1e3 * best));
  });
}

}  // namespace heed::cli
