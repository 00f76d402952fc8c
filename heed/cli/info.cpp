// heed info: what a model directory holds. The layers' weights are not read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/cli/adapters.h"
#include "heed/cli/arguments.h"
#include "heed/data/pixel_format.h"
#include "heed/io/sharded_tensors.h"
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

// Null of a model of text.
nlohmann::json describe_images(const std::string& folder, const models::ModelConfig& c) {
  if (!data::PixelFormat::in(folder)) return nullptr;
  const data::PixelFormat f = data::PixelFormat::read(folder);
  if (f.vocabulary() != c.vocabulary) {
    fail_file("[info] '{}': images have {} ids, the model {}", folder, f.vocabulary(), c.vocabulary);
  }
  return {{"width", f.width}, {"height", f.height}, {"levels", f.levels}, {"classes", f.classes}};
}

std::string images_text(const nlohmann::json& i) {
  const auto classes = i["classes"].get<std::vector<std::string>>();
  return fmt::format("{} x {} pixels of {} levels of grey{}", i["width"].get<int64_t>(), i["height"].get<int64_t>(),
                     i["levels"].get<int64_t>(),
                     classes.empty() ? ""
                                     : fmt::format(", {} classes: {}", classes.size(),
                                                   printable(fmt::format("{}", fmt::join(classes, ", ")), 300)));
}

std::string kind_of(const std::string& folder, const models::ModelConfig& c) {
  if (is_translator(c)) return "translator";
  if (data::PixelFormat::in(folder)) return "model of images";
  return c.family == models::Family::kDecoder ? "language model" : "encoder";
}

// Of a language model as the file has them; a translator has each parameter once, as f32.
int64_t weight_bytes(const std::string& folder, const models::ModelConfig& c, int64_t parameters) {
  if (c.family != models::Family::kDecoder || !ShardedTensors::exists(folder)) return 4 * parameters;
  int64_t bytes = 0;
  const ShardedTensors file = ShardedTensors::open(folder);
  for (const auto& [name, tensor] : file.tensors()) bytes += static_cast<int64_t>(tensor->bytes.size());
  return bytes;
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
  const std::string weights = models::base_of(folder);
  const models::ParsedConfig parsed = models::read_parsed_config(weights);
  const auto& [c, type] = parsed;
  if (ShardedTensors::exists(weights)) models::check_tensors(weights, parsed);
  const models::ParameterParts p = models::parameter_parts(c);
  return {{"model", folder.path},
          {"kind", kind_of(weights, c)},
          {"adapter", describe_adapter(folder, c)},
          {"model_type", type},
          {"parameters",
           {{"total", p.total()},
            {"embedding", p.embedding},
            {"positions", p.positions},
            {"self_attention", p.self_attention},
            {"cross_attention", p.cross_attention},
            {"feed_forward", p.feed_forward},
            {"norms", p.norms},
            {"output", p.output}}},
          {"memory_bytes", weight_bytes(weights, c, p.total())},
          {"tokenizer", describe_tokenizers(is_translator(c) ? folder.path : tasks::tokenizer_folder(folder), c)},
          {"images", describe_images(weights, c)},
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
  if (kind == "translator" || kind == "encoder") text += fmt::format("  encoder     {}\n", stack(c["encoder"]));
  if (kind != "encoder") text += fmt::format("  decoder     {}\n", stack(c["decoder"]));
  text += j["images"].is_null() ? fmt::format("  tokenizer   {}\n", tokenizer_text(j["tokenizer"]))
                                : fmt::format("  images      {}\n", images_text(j["images"]));
  text += fmt::format("  parameters  {:>14}   {:.1f} MB in memory\n", with_commas(total),
                      1e-6 * static_cast<double>(j["memory_bytes"].get<int64_t>()));
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
