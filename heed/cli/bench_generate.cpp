// heed bench generate: tokens a second of prompts and of new text, and how near that is to a pure read of the weights.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/base/threads.h"
#include "heed/cli/arguments.h"
#include "heed/cli/bench.h"
#include "heed/cli/measure.h"
#include "heed/decode/generation.h"
#include "heed/kernels/quantised.h"
#include "heed/models/directory.h"

namespace heed::cli {
namespace {

struct Options {
  std::string preset = "gpt2", model;
  int64_t batch = 1, prompt = 256, tokens = 64;
  double seconds = 5;
};

models::ModelConfig config_of(const Options& o) {
  if (!o.model.empty()) return models::read_config(o.model);
  models::ModelConfig config = models::preset(o.preset);
  config.decoder.weights_in_out = true;
  return config;
}

models::Decoder model_of(const Options& o, const models::ModelConfig& config) {
  if (o.model.empty()) return models::Decoder(config, 1);
  return models::load_decoder(o.model, {.as_stored = true, .in_halves = true});
}

// Before a weight is read.
void check_lengths(const Options& o, const models::ModelConfig& config) {
  const int64_t context = decode::context_length(config);
  if (o.prompt + o.tokens > context) {
    fail("[bench generate] {} + {} tokens: the context of the model is {}", o.prompt, o.tokens, context);
  }
  const nn::StackConfig& stack = config.decoder;
  const int64_t row = stack.layers * 2 * stack.key_heads() * stack.head_size();  // keys and values of a token
  check_room(fmt::format("[bench generate] --batch {} --prompt {} --tokens {}", o.batch, o.prompt, o.tokens),
             o.batch * (o.prompt + o.tokens) * row * static_cast<int64_t>(sizeof(float)));
}

int64_t bytes_of(const Tensor& w) {
  const StoredNumbers* stored = w.stored();
  if (!stored) return static_cast<int64_t>(sizeof(float)) * w.numel();
  if (kernels::is_quantised(stored->type)) return kernels::quantised_bytes(stored->type, w.rows(), w.cols());
  const int64_t width = stored->type == kernels::NumberType::kF32 ? 4 : 2;
  return width * ((w.rows() - 1) * stored->ld + w.cols());
}

// What one token reads, as it lies in memory or in the mapped file: all but tables that rows are taken of. Parameters that
// are parts of one matrix, or neighbours, are one piece.
std::vector<Bytes> weights_of(const models::Decoder& model) {
  std::vector<Bytes> all;
  for (const nn::Parameter& p : model.parameters.list()) {
    const bool by_rows = p.name.find(".positions.") != std::string::npos ||
                         (!model.config.tie_embeddings && p.tensor.node() == model.token_embedding.table.node());
    if (by_rows || p.tensor.numel() == 0) continue;
    const void* data = p.tensor.stored() ? p.tensor.stored()->data : p.tensor.data();
    all.emplace_back(static_cast<const std::byte*>(data), static_cast<size_t>(bytes_of(p.tensor)));
  }
  std::sort(all.begin(), all.end(), [](Bytes a, Bytes b) { return a.data() < b.data(); });
  std::vector<Bytes> pieces;
  for (const Bytes next : all) {
    constexpr int64_t kGap = 256;  // of alignment
    const std::byte* end = pieces.empty() ? nullptr : pieces.back().data() + pieces.back().size();
    if (!end || next.data() - end > kGap) {
      pieces.push_back(next);
    } else if (next.data() + next.size() > end) {
      pieces.back() = {pieces.back().data(), next.data() + next.size()};
    }
  }
  return pieces;
}

int64_t total(const std::vector<Bytes>& pieces) {
  int64_t sum = 0;
  for (const Bytes& piece : pieces) sum += static_cast<int64_t>(piece.size());
  return sum;
}

// Bytes a second that all threads read together: the wall for one sequence.
double read_speed(const std::vector<Bytes>& pieces) {
  return static_cast<double>(total(pieces)) / read_seconds(pieces);
}

std::vector<decode::GenerationRequest> requests_of(const Options& o, int64_t vocabulary) {
  Random random(1);
  std::vector<decode::GenerationRequest> requests;
  for (int64_t i = 0; i < o.batch; ++i) {
    decode::GenerationRequest& r = requests.emplace_back();
    r.number = i;
    r.settings.sampling.temperature = 0;
    r.settings.max_tokens = o.tokens;
    for (int64_t t = 0; t < o.prompt; ++t) {
      r.prompt.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary))));
    }
  }
  return requests;
}

struct Seconds {
  std::vector<double> prompt, tokens, bytes;  // of reading, bytes a second
};

// One round: all prompts until each has its first token, then the others.
void measure_round(const models::Decoder& model, const Options& o,
                   const std::vector<decode::GenerationRequest>& requests, const std::vector<Bytes>& weights,
                   Seconds& seconds) {
  decode::Generation generation(model, {}, {.kept_rows = 0});  // no end: every sequence gets all its tokens
  generation.join(requests);
  int64_t begun = 0;
  const double start = now_seconds();
  const auto count = [&](const decode::GenerationRequest&, const decode::GeneratedToken&) { return ++begun, true; };
  while (begun < o.batch) generation.step(count);
  const double first = now_seconds();
  const int64_t said = begun;
  while (generation.sequences() > 0) generation.step(count);
  seconds.prompt.push_back((first - start) / static_cast<double>(o.batch * o.prompt));
  seconds.tokens.push_back((now_seconds() - first) / static_cast<double>(std::max<int64_t>(1, begun - said)));
  seconds.bytes.push_back(read_speed(weights));
}

nlohmann::json speeds(const std::vector<double>& seconds) {
  return {{"best", 1 / *std::min_element(seconds.begin(), seconds.end())}, {"median", 1 / median(seconds)}};
}

}  // namespace

void add_bench_generate(CLI::App& bench, const Common& common) {
  CLI::App* app = add_command(bench, "generate", "tokens a second of a language model",
                              "heed bench generate --preset gpt2 --batch 16 --json");
  const auto o = std::make_shared<Options>();
  add_choice(app, "--preset", o->preset, {"gpt2", "llama", "chargpt"}, "gpt2 without it");
  add_text(app, "--model", o->model, "a model directory instead", "MODEL");
  add_whole(app, "--batch", o->batch, {1, 4096}, "sequences at once; 1 without it");
  add_whole(app, "--prompt", o->prompt, {1, 1 << 20}, "tokens of each prompt; 256 without it");
  add_whole(app, "--tokens", o->tokens, {2, 1 << 20}, "new tokens of each; 64 without it");
  add_number(app, "--seconds", o->seconds, {0.1, 3600}, "how long to measure; 5 without it");
  on_run(app, [app, o, &common] {
    if (!o->model.empty()) expect_absent(app, {"--preset"}, "--model");
    const models::ModelConfig config = config_of(*o);
    check_lengths(*o, config);
    const models::Decoder model = model_of(*o, config);
    const std::vector<decode::GenerationRequest> requests = requests_of(*o, model.config.vocabulary);
    const std::vector<Bytes> weights = weights_of(model);
    Seconds warm_up, seconds;
    const double start = now_seconds();
    measure_round(model, *o, requests, weights, warm_up);
    while (seconds.tokens.size() < 3 || now_seconds() - start < o->seconds)
      measure_round(model, *o, requests, weights, seconds);
    const double read = *std::max_element(seconds.bytes.begin(), seconds.bytes.end()),
                 bytes = static_cast<double>(total(weights));
    const nlohmann::json prompt = speeds(seconds.prompt), tokens = speeds(seconds.tokens);
    // Of one sequence; more share each read.
    const double share = tokens["best"].get<double>() / static_cast<double>(o->batch) * bytes / read;
    const nlohmann::json j{{"bench", "generate"},
                           {"preset", o->model.empty() ? o->preset : o->model},
                           {"batch", o->batch},
                           {"prompt", o->prompt},
                           {"tokens", o->tokens},
                           {"threads", num_threads()},
                           {"prompt_tokens_per_second", prompt},
                           {"tokens_per_second", tokens},
                           {"weight_bytes", bytes},
                           {"read_bytes_per_second", read},
                           {"share_of_read", share}};
    print(common.json ? j.dump() + "\n"
                      : fmt::format("{} at once: prompts {:.0f} tokens/s, text {:.1f} tokens/s, {:.0f} % of what "
                                    "a pure read of the weights at {:.1f} GB/s allows\n",
                                    o->batch, prompt["best"].get<double>(), tokens["best"].get<double>(), 100 * share,
                                    1e-9 * read));
  });
}

}  // namespace heed::cli
