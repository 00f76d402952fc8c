#include "heed/decode/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "heed/base/error.h"
#include "heed/nn/trace.h"

namespace heed::decode {
namespace {

std::string weights_name(int64_t layer) { return fmt::format("decoder.layers.{}.cross_attn.weights", layer); }

// Runs the finished sentence once more, and keeps what it looked at.
nn::Trace traced(const models::EncoderDecoder& model, const std::vector<int32_t>& source,
                 const std::vector<int32_t>& target) {
  const NoGrad no_grad;
  nn::Trace trace;
  nn::Context context;
  context.trace = &trace;
  models::PairBatch batch;
  batch.source = {source, Spans::dense(1, static_cast<int64_t>(source.size()))};
  batch.target.ids = {model.config.tokens.start};
  batch.target.ids.insert(batch.target.ids.end(), target.begin(), target.end() - 1);
  batch.target.spans = Spans::dense(1, static_cast<int64_t>(target.size()));
  model.hidden(batch, context);
  return trace;
}

Tensor head_of(const Tensor& heads, int64_t head) {
  const int64_t rows = heads.size(1), columns = heads.size(2);
  return Tensor::from({heads.data() + head * rows * columns, static_cast<size_t>(rows * columns)}, {rows, columns});
}

// How sure the head is of where it points, and how many tokens it points at; eos is where heads rest.
double clarity(const Tensor& weights) {
  const int64_t rows = weights.size(0), columns = weights.size(1) - 1;
  double sure = 0;
  std::set<int64_t> pointed;
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = weights.data() + r * weights.size(1);
    const int64_t at = std::max_element(row, row + columns) - row;
    sure += double{row[at]};
    pointed.insert(at);
  }
  const double most = static_cast<double>(std::max<int64_t>(1, std::min(rows, columns)));
  return sure / static_cast<double>(std::max<int64_t>(1, rows)) * static_cast<double>(pointed.size()) / most;
}

}  // namespace

Tensor cross_weights(const models::EncoderDecoder& model, const std::vector<int32_t>& source,
                     const std::vector<int32_t>& target, const models::AlignmentHead& head) {
  if (target.empty()) return Tensor::zeros({0, static_cast<int64_t>(source.size())});
  if (head.layer < 0 || head.layer >= model.config.decoder.layers || head.head < 0 ||
      head.head >= model.config.decoder.heads) {
    fail("[alignment] head {} of layer {}: the decoder has {} layers of {}", head.head, head.layer,
         model.config.decoder.layers, model.config.decoder.heads);
  }
  return head_of(traced(model, source, target).tensor(weights_name(head.layer), 0), head.head);
}

Tensor alignment_weights(const models::EncoderDecoder& model, const std::vector<int32_t>& source,
                         const std::vector<int32_t>& target) {
  const models::AlignmentHead& best = model.config.alignment;
  if (best.layer >= 0 || target.empty()) return cross_weights(model, source, target, best);
  const int64_t layer = std::max<int64_t>(0, model.config.decoder.layers - 2), H = model.config.decoder.heads;
  const Tensor heads = traced(model, source, target).tensor(weights_name(layer), 0);  // (H, n, n')
  Tensor mean = head_of(heads, 0);
  const NoGrad no_grad;
  for (int64_t h = 1; h < H; ++h) mean = mean + head_of(heads, h);
  return (1.0f / static_cast<float>(H)) * mean;
}

models::AlignmentHead best_alignment_head(const models::EncoderDecoder& model, const std::vector<IdPair>& pairs) {
  const int64_t layers = model.config.decoder.layers, H = model.config.decoder.heads;
  std::vector<double> total(static_cast<size_t>(layers * H));
  for (const IdPair& pair : pairs) {
    if (pair.source.size() < 2 || pair.target.size() < 2) continue;
    const std::vector<int32_t> words(pair.target.begin(), pair.target.end() - 1);  // eos looks at nothing in particular
    const nn::Trace trace = traced(model, pair.source, words);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const Tensor heads = trace.tensor(weights_name(layer), 0);
      for (int64_t h = 0; h < H; ++h) total[static_cast<size_t>(layer * H + h)] += clarity(head_of(heads, h));
    }
  }
  const int64_t best = std::max_element(total.begin(), total.end()) - total.begin();
  return {best / H, best % H};
}

}  // namespace heed::decode
