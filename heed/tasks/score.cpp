#include "heed/tasks/score.h"

#include <algorithm>

#include "heed/base/error.h"

namespace heed::tasks {
namespace {

// Pairs until a batch is full, then all of them at once.
class PairScorer {
 public:
  PairScorer(const models::EncoderDecoder& model, const PairScoreConfig& config) : model_(model), config_(config) {}

  void add(std::vector<int32_t> source, std::vector<int32_t> target) {
    const models::TokenIds& ids = model_.config.tokens;
    source.push_back(ids.eos), target.push_back(ids.eos);
    if (!fits(static_cast<int64_t>(source.size()), static_cast<int64_t>(target.size()))) {
      flush();  // scores come in order
      scores_.emplace_back();
      return;
    }
    const int64_t n = static_cast<int64_t>(std::max(source.size(), target.size()));
    if (tokens_ + n > config_.batch_tokens) flush();
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
      Score score{0, length};
      for (int64_t i = 0; i < length; ++i) score.log_probability -= double{result.row_nll[row++]};
      scores_.push_back(score);
    }
    batch_ = {};
    source_lengths_.clear(), target_lengths_.clear();
    tokens_ = 0;
  }

  std::vector<Score> scores() {
    flush();
    return std::move(scores_);
  }

 private:
  bool fits(int64_t source, int64_t target) const {
    const int64_t longest_source = decode::longest_sequence(model_.config.encoder),
                  longest_target = decode::longest_sequence(model_.config.decoder);
    if (source <= longest_source && target <= longest_target) return true;
    if (config_.too_long == PairScoreConfig::kLeaveOut) return false;
    fail_file("[score] pair {} has {} and {} tokens: the model has positions for {} and {}",
              scores_.size() + source_lengths_.size() + 1, source, target, longest_source, longest_target);
  }

  const models::EncoderDecoder& model_;
  const PairScoreConfig config_;
  int64_t tokens_ = 0;
  models::PairBatch batch_;
  std::vector<int64_t> source_lengths_, target_lengths_;
  std::vector<Score> scores_;
};

// Windows of texts until a batch is full, then all of them at once.
class WindowScorer {
 public:
  WindowScorer(const models::Decoder& model, const TextScoreConfig& config)
      : model_(model), config_(config), context_(decode::context_length(model.config)) {
    if (config_.stride == 0) config_.stride = std::max<int64_t>(1, context_ / 2);
    if (config_.stride < 1 || config_.stride > context_) {
      fail("[score] a stride of {}: expected 1 to {}, the context of the model", config_.stride, context_);
    }
  }

  void add(const std::vector<int32_t>& ids) {
    scores_.emplace_back();
    const int64_t steps = static_cast<int64_t>(ids.size()) - 1;  // from a token to the next
    int64_t counted = 0;
    for (int64_t begin = 0; counted < steps; begin += config_.stride) {
      const int64_t end = std::min(steps, begin + context_);
      add_window(ids, begin, end, counted);
      counted = end;
    }
  }

  std::vector<Score> scores() {
    flush();
    return std::move(scores_);
  }

 private:
  void add_window(const std::vector<int32_t>& ids, int64_t begin, int64_t end, int64_t counted) {
    if (static_cast<int64_t>(batch_.ids.size()) + end - begin > config_.batch_tokens) flush();
    batch_.ids.insert(batch_.ids.end(), ids.begin() + begin, ids.begin() + end);
    for (int64_t t = begin; t < end; ++t) labels_.push_back(t < counted ? -1 : ids[static_cast<size_t>(t) + 1]);
    text_of_row_.resize(batch_.ids.size(), scores_.size() - 1);
    lengths_.push_back(end - begin);
  }

  void flush() {
    if (lengths_.empty()) return;
    const NoGrad no_grad;
    batch_.spans = Spans(lengths_);
    const LossResult result = model_.loss(batch_, labels_, {.keep_rows = true}, {});
    for (size_t row = 0; row < labels_.size(); ++row) {
      if (labels_[row] < 0) continue;
      Score& score = scores_[text_of_row_[row]];
      score.log_probability -= double{result.row_nll[row]};
      ++score.tokens;
    }
    batch_ = {};
    labels_.clear(), lengths_.clear(), text_of_row_.clear();
  }

  const models::Decoder& model_;
  TextScoreConfig config_;
  int64_t context_;
  models::TokenBatch batch_;
  std::vector<int32_t> labels_;  // -1: counted before
  std::vector<int64_t> lengths_;
  std::vector<size_t> text_of_row_;
  std::vector<Score> scores_;
};

}  // namespace

std::vector<Score> score_pairs(const TranslatorView& translator, const std::vector<TextPair>& pairs,
                               const PairScoreConfig& config) {
  PairScorer scorer(translator.model, config);
  for (const TextPair& pair : pairs) {
    scorer.add(translator.tokenizers.source->encode(pair.source), translator.tokenizers.target->encode(pair.target));
  }
  return scorer.scores();
}

std::vector<Score> score_ids(const models::EncoderDecoder& model, const std::vector<decode::IdPair>& pairs,
                             const PairScoreConfig& config) {
  PairScorer scorer(model, config);
  for (const decode::IdPair& pair : pairs) scorer.add(pair.source, pair.target);
  return scorer.scores();
}

std::vector<Score> score_texts(const GeneratorView& generator, const std::vector<std::string>& texts,
                               const TextScoreConfig& config) {
  WindowScorer scorer(generator.model, config);
  const models::TokenIds& special = generator.model.config.tokens;
  const int32_t start = special.start >= 0 ? special.start : special.eos;
  for (const std::string& text : texts) {
    std::vector<int32_t> ids = generator.encode(text);
    if (start >= 0 && generator.tokenizer->special().bos < 0) ids.insert(ids.begin(), start);
    if (config.with_end && special.eos >= 0) ids.push_back(special.eos);
    scorer.add(ids);
  }
  return scorer.scores();
}

std::vector<Score> score_sequences(const models::Decoder& model, const std::vector<std::vector<int32_t>>& sequences,
                                   const TextScoreConfig& config) {
  WindowScorer scorer(model, config);
  for (const std::vector<int32_t>& ids : sequences) scorer.add(ids);
  return scorer.scores();
}

}  // namespace heed::tasks
