#include "heed/tasks/score.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed::tasks {
namespace {

// Pairs until a batch is full, then all of them at once.
class Scorer {
 public:
  Scorer(const models::EncoderDecoder& model, int64_t batch_tokens) : model_(model), most_(batch_tokens) {}

  void add(std::vector<int32_t> source, std::vector<int32_t> target) {
    const models::TokenIds& ids = model_.config.tokens;
    source.push_back(ids.eos), target.push_back(ids.eos);
    check_length(static_cast<int64_t>(source.size()), static_cast<int64_t>(target.size()));
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
    const LossResult result = model_.loss(batch_, {.keep_rows = true}, {});
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
  void check_length(int64_t source, int64_t target) const {
    const int64_t longest_source = decode::longest_sequence(model_.config.encoder),
                  longest_target = decode::longest_sequence(model_.config.decoder);
    if (source <= longest_source && target <= longest_target) return;
    fail_file("[score] pair {} has {} and {} tokens: the model has positions for {} and {}",
              scores_.size() + source_lengths_.size() + 1, source, target, longest_source, longest_target);
  }

  const models::EncoderDecoder& model_;
  int64_t most_, tokens_ = 0;
  models::PairBatch batch_;
  std::vector<int64_t> source_lengths_, target_lengths_;
  std::vector<PairScore> scores_;
};

}  // namespace

std::vector<PairScore> score_pairs(const TranslatorView& translator, const std::vector<TextPair>& pairs,
                                   int64_t batch_tokens) {
  Scorer scorer(translator.model, batch_tokens);
  for (const TextPair& pair : pairs) {
    scorer.add(translator.tokenizers.source->encode(pair.source), translator.tokenizers.target->encode(pair.target));
  }
  return scorer.scores();
}

std::vector<PairScore> score_ids(const models::EncoderDecoder& model, const std::vector<decode::IdPair>& pairs,
                                 int64_t batch_tokens) {
  Scorer scorer(model, batch_tokens);
  for (const decode::IdPair& pair : pairs) scorer.add(pair.source, pair.target);
  return scorer.scores();
}

}  // namespace heed::tasks
