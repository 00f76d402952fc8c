// Learning to translate: an encoder-decoder and pairs of sentences.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/data/batches.h"
#include "heed/data/pair_store.h"
#include "heed/models/encoder_decoder.h"
#include "heed/text/tokenizer.h"
#include "heed/train/config.h"
#include "heed/train/learner.h"

namespace heed::train {

// What a run reads: made by prepare() from the files of the config.
struct RunData {
  data::PairStore train;
  std::optional<data::PairStore> valid;
  std::vector<std::string> valid_source, valid_target;  // the text of the first sentences
  text::TokenizerPair tokenizers;
  std::string identity;  // of the config and the data: must be the same on resume
};

class TranslatorLearner final : public Learner {
 public:
  TranslatorLearner(const TrainConfig& config, const RunData& data);

  const nn::Parameters& parameters() const override { return model_.parameters; }
  std::string identity() const override { return data_.identity; }
  int64_t batches(int64_t epoch) override;
  BatchSize size_of(int64_t batch) const override;
  BatchLoss learn(int64_t batch, const LossArgs& args, const nn::Context& context, uint32_t first_id) override;
  std::string begin_of(int64_t batch) const override;
  int64_t usual_batches() const override;
  bool validates() const override { return data_.valid.has_value(); }
  void measure(ValidationReport& report) override;
  void publish(const std::string& folder) override;

  const models::EncoderDecoder& model() const { return model_; }

 private:
  // Times that a batch holds each of its sentences: twice where two dropouts are to agree.
  int64_t readings() const { return config_.train.agreement > 0 ? 2 : 1; }

  const TrainConfig config_;
  const RunData& data_;
  models::EncoderDecoder model_;
  std::unique_ptr<data::EpochBatches> epoch_;
  int64_t epoch_of_batches_ = -1;
};

}  // namespace heed::train
