#include "heed/tasks/score.h"

#include <algorithm>

namespace heed::tasks {
namespace {

// Pairs until a batch is full, then all of them at once.
class Scorer {
 public:
  Scorer(const TranslatorView& t, int64_t batch_tokens) : t_(t), most_(batch_tokens) {}

  void add(const TextPair& pair) {
    const models::TokenIds& ids = t_.model.config.tokens;
    std::vector<int32_t> source = t_.tokenizers.source->encode(pair.source),
                         target = t_.tokenizers.target->encode(pair.target);
    source.push_back(ids.eos), target.push_back(ids.eos);
    const int64_t n = static_cast<int64_t>(std::max(source.size(), target.size()));
    if (tokens_ + n > most_) flush();
    tokens_ += n;
    batch_.source.ids.insert(batch_.source.ids.end(), source.begin(), source.end());
    batch_.target.ids.push_back(ids.start);
    batch_.target.ids.insert(batch_.target.ids.end(), target.begin(), target.end() - 1);
    batch_.labels.insert(batch_.labels.end(), target.begin(), target.end());
    source_lengths_.push_back(static_cast<int64_t>(source.size()));
    target_lengths_.push_back(static_cast<int64_t>(target.size()));
  }

  void flush() {
    if (source_lengths_.empty()) return;
    const NoGrad no_grad;
    batch_.source.spans = Spans(source_lengths_), batch_.target.spans = Spans(target_lengths_);
    const LossResult result = t_.model.loss(batch_, {.keep_rows = true}, {});
    size_t row = 0;
    for (const int64_t length : target_lengths_) {
      PairScore score{0, length};
      for (int64_t i = 0; i < length; ++i) score.log_probability -= double{result.row_nll[row++]};
      scores_.push_back(score);
    }
    batch_ = {};
    source_lengths_.clear(), target_lengths_.clear();
    tokens_ = 0;
  }

  std::vector<PairScore> scores() {
    flush();
    return std::move(scores_);
  }

 private:
  const TranslatorView t_;
  int64_t most_, tokens_ = 0;
  models::PairBatch batch_;
  std::vector<int64_t> source_lengths_, target_lengths_;
  std::vector<PairScore> scores_;
};

}  // namespace

std::vector<PairScore> score_pairs(const TranslatorView& translator, const std::vector<TextPair>& pairs,
                                   int64_t batch_tokens) {
  Scorer scorer(translator, batch_tokens);
  for (const TextPair& pair : pairs) scorer.add(pair);
  return scorer.scores();
}

}  // namespace heed::tasks
