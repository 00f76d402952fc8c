// heed's side of tools/golden/decoders.py check:
//   golden_decoders MODEL      lines of ids in; the logits of each, (tokens, V) as raw f32, out
//   golden_decoders MODEL OUT  the same model as heed writes it
#include <cstdio>
#include <iostream>
#include <sstream>

#include "heed/base/error.h"
#include "heed/models/directory.h"

namespace {

heed::Tensor logits_of(const heed::models::Decoder& model, const std::string& line) {
  std::istringstream words(line);
  std::vector<int32_t> ids;
  for (int32_t id = 0; words >> id;) ids.push_back(id);
  return model.logits({ids, heed::Spans::dense(1, static_cast<int64_t>(ids.size()))}, {});
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) heed::fail("[golden] expected a model directory, and where to write it anew");
  const heed::NoGrad no_grad;
  const heed::models::Decoder model = heed::models::load_decoder(argv[1]);
  if (argc == 3) {
    heed::models::save_decoder(argv[2], model);
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
