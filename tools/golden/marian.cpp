// heed's side of tools/golden/marian.py check:
//   golden_marian MODEL    lines of "source ids<TAB>target ids" in; the logits of each, (target tokens, V) as raw f32, out
// The source ends with eos, the target starts with the start token: what stands on a line is what the model reads.
#include <cstdio>
#include <iostream>
#include <sstream>

#include "heed/base/error.h"
#include "heed/models/directory.h"

namespace {

std::vector<int32_t> ids_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<int32_t> ids;
  for (int32_t id = 0; words >> id;) ids.push_back(id);
  return ids;
}

heed::Tensor logits_of(const heed::models::EncoderDecoder& model, const std::string& line) {
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) heed::fail("[golden] a line without a tab: expected source ids<TAB>target ids");
  heed::models::PairBatch batch{{ids_of(line.substr(0, tab)), {}}, {ids_of(line.substr(tab + 1)), {}}, {}};
  batch.source.spans = heed::Spans::dense(1, static_cast<int64_t>(batch.source.ids.size()));
  batch.target.spans = heed::Spans::dense(1, static_cast<int64_t>(batch.target.ids.size()));
  return model.logits(batch, {});
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) heed::fail("[golden] expected a model directory");
  const heed::NoGrad no_grad;
  const heed::models::EncoderDecoder model = heed::models::load_translator(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const heed::Tensor logits = logits_of(model, line);
    std::fwrite(logits.data(), sizeof(float), static_cast<size_t>(logits.numel()), stdout);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
