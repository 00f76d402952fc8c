// heed info: what a model directory holds. The layers' weights are not read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/adapters.h"
#include "heed/cli/arguments.h"
#include "heed/models/config_json.h"
#include "heed/models/lora.h"
#include "heed/models/parameter_count.h"
#include "heed/tasks/generator.h"
#include "heed/text/tokenizer.h"

namespace heed::cli {
namespace {

bool is_translator(const models::ModelConfig& c) { return c.family == models::Family::kEncoderDecoder; }

nlohmann::json describe_tokenizer(const std::string& folder, const models::ModelConfig& c) {
  if (!text::has_tokenizer(folder)) return nullptr;
  const int64_t size = text::load_tokenizer(folder)->size();
  if (size > c.vocabulary) {
    fail_file("[info] '{}': the tokenizer has {} ids, the model {}", folder, size, c.vocabulary);
  }
  return {{"size", size}};
}

// Null where there is none: a model that is run by --ids needs none.
nlohmann::json describe_tokenizers(const std::string& folder, const models::ModelConfig& c) {
  if (!is_translator(c)) return describe_tokenizer(folder, c);
  if (!text::has_tokenizers(folder)) return nullptr;
  const text::TokenizerPair pair = text::load_tokenizers(folder);
  return {{"source", pair.source->size()}, {"target", pair.target->size()}, {"shared", pair.shared()}};
}

std::string tokenizer_text(const nlohmann::json& t) {
  if (t.is_null()) return "none: token ids in and out";
  if (t.contains("size")) return with_commas(t["size"].get<int64_t>()) + " pieces";
  const std::string source = with_commas(t["source"].get<int64_t>()) + " pieces";
  return source + (t["shared"].get<bool>() ? ", shared by both languages"
                                           : fmt::format(" and {}", with_commas(t["target"].get<int64_t>())));
}

std::string kind_of(const models::ModelConfig& c) {
  if (is_translator(c)) return "translator";
  return c.family == models::Family::kDecoder ? "language model" : "encoder";
}

// Null where the model is none: what it adds to its base.
nlohmann::json describe_adapter(const models::ModelFolder& folder, const models::ModelConfig& c) {
  if (!models::is_adapter(folder.path)) return nullptr;
  const models::Lora lora = models::Lora::described(folder.path, models::Decoder(c, std::nullopt));
  return {{"base", models::base_of(folder)},
          {"rank", lora.config.rank},
          {"alpha", lora.config.alpha},
          {"modules", lora.config.modules},
          {"parameters", lora.parameters.count()}};
}

nlohmann::json describe(const models::ModelFolder& folder) {
  const models::ModelConfig c = models::read_config(folder);
  const models::ParameterParts p = models::parameter_parts(c);
  return {{"model", folder.path},
          {"kind", kind_of(c)},
          {"adapter", describe_adapter(folder, c)},
          {"model_type", models::model_type(c)},
          {"parameters",
           {{"total", p.total()},
            {"embedding", p.embedding},
            {"positions", p.positions},
            {"self_attention", p.self_attention},
            {"cross_attention", p.cross_attention},
            {"feed_forward", p.feed_forward},
            {"norms", p.norms},
            {"output", p.output}}},
          {"memory_bytes", 4 * p.total()},
          {"tokenizer", describe_tokenizers(is_translator(c) ? folder.path : tasks::tokenizer_folder(folder), c)},
          {"config", models::heed_json(c)}};
}

std::string to_text(const nlohmann::json& j) {
  const auto& c = j["config"];
  const auto stack = [](const nlohmann::json& s) {
    return fmt::format("{} layers of {} features, {} heads, feed-forward {} ({}), {}-norm, {} positions",
                       s["layers"].get<int>(), s["d_model"].get<int>(), s["heads"].get<int>(), s["d_ff"].get<int>(),
                       s["activation"].get<std::string>(), s["norm_place"].get<std::string>(),
                       s["positions"]["kind"].get<std::string>());
  };
  const int64_t total = j["parameters"]["total"].get<int64_t>();
  const auto kind = j["kind"].get<std::string>();
  std::string text = fmt::format("{}: {} {}, model type {}\n", j["model"].get<std::string>(),
                                 kind == "encoder" ? "an" : "a", kind, j["model_type"].get<std::string>());
  if (const auto& a = j["adapter"]; !a.is_null()) {
    text += fmt::format("  adapter     LoRA of rank {}, alpha {}, {} parameters beside {} of '{}'\n",
                        a["rank"].get<int>(), a["alpha"].get<double>(), with_commas(a["parameters"].get<int64_t>()),
                        fmt::join(a["modules"].get<std::vector<std::string>>(), ", "), a["base"].get<std::string>());
  }
  if (kind != "language model") text += fmt::format("  encoder     {}\n", stack(c["encoder"]));
  if (kind != "encoder") text += fmt::format("  decoder     {}\n", stack(c["decoder"]));
  text += fmt::format("  tokenizer   {}\n", tokenizer_text(j["tokenizer"]));
  text += fmt::format("  parameters  {:>14}   {:.1f} MB in memory\n", with_commas(total),
                      static_cast<double>(total) * 4e-6);
  for (const char* part :
       {"embedding", "positions", "self_attention", "cross_attention", "feed_forward", "norms", "output"}) {
    const int64_t n = j["parameters"][part].get<int64_t>();
    if (n > 0)
      text += fmt::format("    {:16} {:>11}  {:5.1f} %\n", part, with_commas(n),
                          100.0 * static_cast<double>(n) / static_cast<double>(total));
  }
  return text;
}

}  // namespace

void add_info(CLI::App& parent, const Common& common) {
  CLI::App* app = add_command(parent, "info", "what a model directory holds", "heed info MODEL");
  const auto folder = std::make_shared<models::ModelFolder>("");
  add_model(app, folder->path, folder->base);
  on_run(app, [folder, &common] {
    const nlohmann::json j = describe(*folder);
    print(common.json ? j.dump() + "\n" : to_text(j));
  });
}

}  // namespace heed::cli
