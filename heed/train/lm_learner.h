// Learning to go on with a text: a decoder and documents, or conversations, of which it learns the answers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "heed/data/blocks.h"
#include "heed/data/text_store.h"
#include "heed/models/decoder.h"
#include "heed/models/lora.h"
#include "heed/text/chat_ids.h"
#include "heed/text/tokenizer.h"
#include "heed/train/config.h"
#include "heed/train/learner.h"
#include "heed/train/lm_batch.h"

namespace heed::train {

// What a run reads.
struct LmData {
  data::TextStore train;
  std::optional<data::TextStore> valid;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string identity;       // of the data: must be the same on resume
  bool starts_given = false;  // documents begin with an id that is read and not predicted
  // Of conversations.
  bool chat = false;
  int32_t start = -1;  // the id that they all begin with; -1: as the model's texts do
  text::ChatEnd end;   // of an answer
};

// Ids of a store that are predicted: all, but for those of conversations that are no answers.
int64_t predicted(std::span<const int32_t> ids);

// Mean over tokens of -log p, each from what stands before it in its block.
double text_loss(const models::Decoder& model, const data::TextStore& store, std::span<const data::Block> blocks,
                 const TextBatchConfig& how, int64_t batch_tokens);

class LmLearner : public Learner {
 public:
  LmLearner(const TrainConfig& config, const LmData& data);
  // A model of documents that are no text (pixel_learner.h): its ids are its own.
  LmLearner(const TrainConfig& config, const LmData& data, const models::ModelConfig& model);

  const nn::Parameters& parameters() const override { return lora_ ? lora_->parameters : model_.parameters; }
  std::string identity() const override { return data_.identity; }
  int64_t batches(int64_t epoch) override;
  BatchSize size_of(int64_t batch) const override;
  BatchLoss learn(int64_t batch, const LossArgs& args, const nn::Context& context, uint32_t first_id) override;
  std::string begin_of(int64_t batch) const override;
  int64_t usual_batches() const override;
  bool validates() const override { return data_.valid.has_value(); }
  void measure(ValidationReport& report) override;
  void publish(const std::string& folder) override;

  const models::Decoder& model() const { return model_; }

 protected:
  virtual std::string shown(const data::Block& block) const;  // how it begins, for messages
  // Loss and perplexity of what these blocks hold.
  void measure_blocks(ValidationReport& report, std::span<const data::Block> blocks) const;

  const TrainConfig config_;
  const LmData& data_;

 private:
  void write_samples(ValidationReport& report) const;
  std::vector<int32_t> first_question(const data::TextStore& store, int64_t conversation) const;

  models::Decoder model_;
  std::optional<models::Lora> lora_;  // what is trained, where the model's own weights are not
  const TextBatchConfig how_;
  std::unique_ptr<data::EpochBlocks> epoch_;
  int64_t epoch_of_blocks_ = -1;
};

}  // namespace heed::train
