// The data of a language model: documents.
#include <fmt/format.h>

#include <filesystem>

#include "heed/base/random.h"
#include "heed/io/atomic_file.h"
#include "heed/io/printable.h"
#include "heed/models/directory.h"
#include "heed/tasks/generator.h"
#include "heed/train/lm_learner.h"
#include "heed/train/task.h"

namespace heed::train {
namespace {

using data::TextPart;

constexpr int64_t kPiecesBetween = 10000;                   // two reports of how far reading is
constexpr double kMostToLearnFrom = 512e6;                  // bytes that a tokenizer is trained on
constexpr uint64_t kSampleStream = uint64_t{0x7E87} << 48;  // away from other uses of the seed

bool has_valid(const TrainConfig& config) { return !config.data.valid_text.empty() || config.data.valid_share > 0; }

// Where no text is named to validate with, some of it is held out.
bool holds_out(const TrainConfig& config) { return config.data.valid_text.empty() && config.data.valid_share > 0; }

data::TextConfig corpus(const TrainConfig& config, const std::vector<std::string>& paths) {
  const TrainConfig::Data& d = config.data;
  data::TextConfig c;
  c.files = data::files_under(paths);
  c.documents = d.documents == "line"   ? data::Documents::kLine
                : d.documents == "file" ? data::Documents::kFile
                                        : data::Documents::kParagraph;
  c.bad = d.bad_lines == "refuse" ? data::BadLines::kRefuse : data::BadLines::kSkip;
  return c;
}

class LmTask final : public Task {
 public:
  int64_t survey(const TrainConfig& config, const Preparation& preparation) override {
    bytes_ = read_all(config, config.data.text, "train", preparation);
    if (!config.data.valid_text.empty()) read_all(config, config.data.valid_text, "validate", preparation);
    return bytes_;
  }

  void stage(const TrainConfig& config, const Preparation& preparation) override {
    if (bytes_ == 0) survey(config, preparation);
    config.model.from.empty() ? stage_new_tokenizer(config, preparation) : stage_tokenizer_of(config);
    const std::shared_ptr<const text::Tokenizer> tokenizer = text::load_tokenizer(staging_of(config.save.out));
    build_staged_store(config, TextPart::kTrain, *tokenizer, preparation);
    if (has_valid(config)) build_staged_store(config, TextPart::kValid, *tokenizer, preparation);
  }

  void open(const TrainConfig& config) override {
    const RunPaths paths{config.save.out};
    data_.tokenizer = text::load_tokenizer(paths.model);
    data_.train = open_whole<data::TextStore>(paths, "train.ids");
    data_.identity = fmt::format("{:016x}", data_.train.fingerprint());
    if (has_valid(config)) data_.valid = open_whole<data::TextStore>(paths, "valid.ids");
  }

  std::unique_ptr<Learner> learner(const TrainConfig& config) const override {
    return std::make_unique<LmLearner>(config, data_);
  }

  std::string description() const override {
    const std::string valid =
        data_.valid ? fmt::format("; {} to validate with", with_commas(data_.valid->tokens())) : "";
    return fmt::format("{} document{}, {} tokens of {:.2f} bytes{}", with_commas(data_.train.documents()),
                       data_.train.documents() == 1 ? "" : "s", with_commas(data_.train.tokens()),
                       static_cast<double>(data_.train.bytes()) / static_cast<double>(data_.train.tokens()), valid);
  }
  int64_t tokens_of_an_epoch() const override { return data_.train.tokens(); }

 private:
  void stage_new_tokenizer(const TrainConfig& config, const Preparation& preparation) const {
    preparation.observer.on_message(fmt::format("training the {} tokenizer", config.text.tokenizer));
    const text::TrainedTokenizer trained =
        text::train_lm_tokenizer(lm_tokenizer_config(config), texts(config, preparation));
    for (const auto& [name, content] : trained.files)
      write_file_atomically(staging_of(config.save.out) + "/" + name, content);
  }

  // Those of the model to go on from.
  static void stage_tokenizer_of(const TrainConfig& config) {
    namespace fs = std::filesystem;
    const std::string folder = tasks::tokenizer_folder(config.model.from);
    for (const text::TokenizerFile& file : text::tokenizer_files()) {
      const fs::path from = fs::path(folder) / file.name;
      if (fs::exists(from)) fs::copy_file(from, fs::path(staging_of(config.save.out)) / file.name);
    }
    const int64_t size = text::load_tokenizer(folder)->size();
    const int64_t rows = models::read_config(config.model.from).vocabulary;
    if (size > rows) {
      fail_file("[train] the tokenizer of '{}' has {} ids, its model knows {}", config.model.from, size, rows);
    }
  }

  static int64_t read_all(const TrainConfig& config, const std::vector<std::string>& paths, const char* purpose,
                          const Preparation& preparation) {
    data::TextCorpus all(corpus(config, paths));
    int64_t pieces = 0;
    for (data::TextPiece piece; all.next(piece);) {
      if (++pieces % kPiecesBetween == 0 || !piece.ends) preparation.at("reading", all.progress());
    }
    const data::TextReport& report = all.report();
    if (report.documents == 0) fail_file("[train] no text to {} with: {}", purpose, report.text());
    preparation.observer.on_message(fmt::format("to {} with: {}", purpose, report.text()));
    return report.bytes;
  }

  // The text to train with, or to validate with.
  data::TextConfig part(const TrainConfig& config, TextPart::Kind kind) const {
    const bool own_files = kind == TextPart::kValid && !config.data.valid_text.empty();
    data::TextConfig c = corpus(config, own_files ? config.data.valid_text : config.data.text);
    if (holds_out(config)) {
      c.part = {kind, config.data.valid_share, config.data.valid_split == "random", bytes_,
                static_cast<uint64_t>(config.train.seed)};
    }
    return c;
  }

  // For the tokenizer; of a very large text an even sample.
  text::LineSource texts(const TrainConfig& config, const Preparation& preparation) const {
    auto all = std::make_shared<data::TextCorpus>(part(config, TextPart::kTrain));
    auto random = std::make_shared<Random>(static_cast<uint64_t>(config.train.seed), kSampleStream);
    auto pieces = std::make_shared<int64_t>(0);
    const double share = kMostToLearnFrom / static_cast<double>(bytes_);
    return [all, random, pieces, share, &preparation](std::string& text) {
      for (data::TextPiece piece; all->next(piece);) {
        if (++*pieces % kPiecesBetween == 0 || !piece.ends) preparation.at("reading", all->progress());
        if (share < 1 && random->uniform() >= share) continue;
        text = std::move(piece.text);
        return true;
      }
      return false;
    };
  }

  void build_staged_store(const TrainConfig& config, TextPart::Kind kind, const text::Tokenizer& tokenizer,
                          const Preparation& preparation) const {
    const bool valid = kind == TextPart::kValid;
    const std::string path = staging_of(config.save.out) + (valid ? "/valid.ids" : "/train.ids");
    data::TextCorpus text(part(config, kind));
    const data::TextStoreReport report =
        data::build_text_store(path, text, tokenizer, [&](double share) { preparation.at("tokenizing", share); });
    const data::TextStore store = data::TextStore::open(path);
    if (store.documents() == 0) {
      fail_file("[train] no document is left to {} with: {} of all text are held out (--valid-share)",
                valid ? "validate" : "train", config.data.valid_share);
    }
    const std::string left_out = report.no_tokens.count > 0 ? data::describe(report.no_tokens, "without a token") : "";
    tell_store(left_out, report.unknown, store.tokens(), preparation.observer);
  }

  int64_t bytes_ = 0;  // of all text to train with, and to hold some of it out
  LmData data_;
};

}  // namespace

std::unique_ptr<Task> make_lm_task() { return std::make_unique<LmTask>(); }

}  // namespace heed::train
