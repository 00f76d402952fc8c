// heed's side of tools/golden/decoders.py check and lora.py check:
//   golden_decoders MODEL           lines of ids in; the logits of each, (tokens, V) as raw f32, out
//   golden_decoders MODEL OUT       the same model as heed writes it
//   golden_decoders MODEL OUT RANK  an adapter of it, of random numbers, beside all of its linear maps
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "heed/base/error.h"
#include "heed/base/random.h"
#include "heed/models/directory.h"
#include "heed/models/lora.h"

namespace {

heed::Tensor logits_of(const heed::models::Decoder& model, const std::string& line) {
  std::istringstream words(line);
  std::vector<int32_t> ids;
  for (int32_t id = 0; words >> id;) ids.push_back(id);
  return model.logits({ids, heed::Spans::dense(1, static_cast<int64_t>(ids.size()))}, {});
}

void write_adapter(const heed::models::Decoder& model, const std::string& base, const std::string& out, int64_t rank) {
  heed::models::LoraConfig config;
  config.rank = rank, config.alpha = 3, config.modules = {"all"};
  config.base = std::filesystem::absolute(base).string();
  heed::models::Lora lora(config, model);
  lora.parameters.allocate(1);
  heed::Random random(1);
  for (int64_t i = 0; i < lora.parameters.arena_size(); ++i) lora.parameters.values()[i] = 0.3f * random.normal();
  lora.save(out);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 4) heed::fail("[golden] expected a model directory, where to write it anew, and a rank");
  const heed::NoGrad no_grad;
  const heed::models::Decoder model = heed::models::load_decoder(argv[1]);
  if (argc > 2) {
    argc == 3 ? heed::models::save_decoder(argv[2], model)
              : write_adapter(model, argv[1], argv[2], std::stoll(argv[3]));
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const heed::Tensor logits = logits_of(model, line);
    std::fwrite(logits.data(), sizeof(float), static_cast<size_t>(logits.numel()), stdout);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
