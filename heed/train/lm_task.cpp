// The data of a language model: documents, or conversations.
#include <fmt/format.h>

#include "heed/base/random.h"
#include "heed/io/atomic_file.h"
#include "heed/io/printable.h"
#include "heed/models/directory.h"
#include "heed/tasks/generator.h"
#include "heed/text/chat_ids.h"
#include "heed/text/text_start.h"
#include "heed/train/lm_learner.h"
#include "heed/train/task.h"

namespace heed::train {
namespace {

using data::TextPart;

constexpr int64_t kPiecesBetween = 10000;                   // two reports of how far reading is
constexpr double kMostToLearnFrom = 512e6;                  // bytes that a tokenizer is trained on
constexpr uint64_t kSampleStream = uint64_t{0x7E87} << 48;  // away from other uses of the seed

bool is_chat(const TrainConfig& config) { return !config.data.chat.empty(); }
const std::vector<std::string>& train_files(const TrainConfig& config) {
  return is_chat(config) ? config.data.chat : config.data.text;
}
const std::vector<std::string>& valid_files(const TrainConfig& config) {
  return is_chat(config) ? config.data.valid_chat : config.data.valid_text;
}

// Where no text is named to validate with, some of it is held out.
bool holds_out(const TrainConfig& config) { return valid_files(config).empty() && config.data.valid_share > 0; }

// Whether documents see nothing before them but the id that they begin behind.
bool stand_apart(const TrainConfig& config) {
  return !is_chat(config) && !(config.data.pack.value_or(true) && config.data.across);
}

data::BadLines bad_lines(const TrainConfig& config) {
  return config.data.bad_lines == "refuse" ? data::BadLines::kRefuse : data::BadLines::kSkip;
}

data::TextConfig corpus(const TrainConfig& config, const std::vector<std::string>& paths) {
  const TrainConfig::Data& d = config.data;
  data::TextConfig c;
  c.files = data::files_under(paths);
  c.documents = is_chat(config) || d.documents == "line" ? data::Documents::kLine
                : d.documents == "file"                  ? data::Documents::kFile
                                                         : data::Documents::kParagraph;
  c.bad = bad_lines(config);
  return c;
}

class LmTask final : public Task {
 public:
  int64_t survey(const TrainConfig& config, const Preparation& preparation) override {
    if (is_chat(config) && !config.model.from.empty())
      text::load_chat_template(tasks::tokenizer_folder(config.model.from));  // a broken one early
    bytes_ = read_all(config, train_files(config), "train", preparation);
    if (!valid_files(config).empty()) read_all(config, valid_files(config), "validate", preparation);
    return bytes_;
  }

  void stage(const TrainConfig& config, const Preparation& preparation) override {
    if (bytes_ == 0) survey(config, preparation);
    config.model.from.empty() ? stage_new_tokenizer(config, preparation) : stage_tokenizer_of(config, preparation);
    if (stand_apart(config)) stage_text_start(config);
    build_staged_store(config, TextPart::kTrain, preparation);
    if (validates(config)) build_staged_store(config, TextPart::kValid, preparation);
  }

  void open(const TrainConfig& config) override {
    const RunPaths paths{config.save.out};
    data_.tokenizer = text::load_tokenizer(paths.model);
    data_.train = open_whole<data::TextStore>(paths, "train.ids");
    data_.identity = fmt::format("{:016x}", data_.train.fingerprint());
    if (validates(config)) data_.valid = open_whole<data::TextStore>(paths, "valid.ids");
    data_.chat = is_chat(config);
    data_.start = data_.tokenizer->special().bos;  // that prompts begin with
    if (!data_.chat) return;
    const auto chat = text::load_chat_template(paths.model);
    if (!chat) fail_file("[train] '{}' has no chat template any more", paths.model);
    data_.start = text::chat_start(*data_.tokenizer, *chat);
    data_.end = text::chat_end(*data_.tokenizer, *chat);
    // Where they begin with different ids, each begins with its own: a prompt has no start before it either.
    data_.starts_given = data_.start < 0 && !config.data.pack.value_or(false);
  }

  std::unique_ptr<Learner> learner(const TrainConfig& config) const override {
    return std::make_unique<LmLearner>(config, data_);
  }

  std::string description() const override {
    const std::string valid =
        data_.valid ? fmt::format("; {} to validate with", with_commas(data_.valid->tokens())) : "";
    if (data_.chat) {
      return fmt::format("{} conversation{}, {} tokens, {} of them answers{}", with_commas(data_.train.documents()),
                         data_.train.documents() == 1 ? "" : "s", with_commas(data_.train.tokens()),
                         with_commas(predicted(data_.train.ids())), valid);
    }
    return fmt::format("{} document{}, {} tokens of {:.2f} bytes{}", with_commas(data_.train.documents()),
                       data_.train.documents() == 1 ? "" : "s", with_commas(data_.train.tokens()),
                       static_cast<double>(data_.train.bytes()) / static_cast<double>(data_.train.tokens()), valid);
  }

 private:
  void stage_new_tokenizer(const TrainConfig& config, const Preparation& preparation) const {
    preparation.observer.on_message(fmt::format("training the {} tokenizer", config.text.tokenizer));
    const text::TrainedTokenizer trained =
        text::train_lm_tokenizer(lm_tokenizer_config(config), texts(config, preparation));
    for (const auto& [name, content] : trained.files)
      write_file_atomically(staging_of(config.save.out) + "/" + name, content);
  }

  // Those of the model to go on from, with its chat template, or heed's where it has none.
  static void stage_tokenizer_of(const TrainConfig& config, const Preparation& preparation) {
    const std::string staging = staging_of(config.save.out), folder = tasks::tokenizer_folder(config.model.from);
    stage_tokenizer_files(folder, staging);
    if (is_chat(config) && !text::load_chat_template(staging)) {
      text::NamedFiles files = text::single_tokenizer_files(staging);
      text::add_default_chat_template(files, config.model.from, false);
      write_file_atomically(staging + "/" + files.back().first, files.back().second);
      preparation.observer.on_message(
          fmt::format("'{}' has no chat template: heed's own is used, its marks as plain text", config.model.from));
    }
    const int64_t size = text::load_tokenizer(folder)->size();
    const int64_t rows = models::read_config(config.model.from).vocabulary;
    if (size > rows) {
      fail_file("[train] the tokenizer of '{}' has {} ids, its model knows {}", config.model.from, size, rows);
    }
  }

  // Then prompts begin with that id too, and so they do for whoever else reads the tokenizer.
  static void stage_text_start(const TrainConfig& config) {
    const std::string staging = staging_of(config.save.out);
    const std::shared_ptr<const text::Tokenizer> tokenizer = text::load_tokenizer(staging);
    if (tokenizer->special().bos >= 0) return;
    int32_t start = config.model.from.empty() ? -1 : models::read_config(config.model.from).tokens.start;
    if (start < 0 || start >= tokenizer->size()) start = tokenizer->special().eos;
    if (start < 0) return;
    text::NamedFiles files = text::single_tokenizer_files(staging);
    text::begin_texts_with(files, start, staging);
    for (const auto& [name, content] : files) write_file_atomically(fmt::format("{}/{}", staging, name), content);
  }

  static int64_t read_all(const TrainConfig& config, const std::vector<std::string>& paths, const char* purpose,
                          const Preparation& preparation) {
    data::TextCorpus all(corpus(config, paths));
    data::BadChatLines bad(bad_lines(config));
    int64_t pieces = 0;
    for (data::TextPiece piece; all.next(piece);) {
      if (++pieces % kPiecesBetween == 0 || !piece.ends) preparation.at("reading", all.progress());
      if (!is_chat(config)) continue;
      if (const data::ChatLine line = data::read_chat_line(piece.text); !line.problem.empty())
        bad.add(piece.place, line.problem, line.detail);
    }
    const data::TextReport& report = all.report();
    const std::string found = report.text() + (bad.count() > 0 ? "; no conversations: " + bad.text() : "");
    if (report.documents == bad.count()) fail_file("[train] no text to {} with: {}", purpose, found);
    preparation.observer.on_message(fmt::format("to {} with: {}", purpose, found));
    return report.bytes;
  }

  // The text to train with, or to validate with.
  data::TextConfig part(const TrainConfig& config, TextPart::Kind kind) const {
    const bool own_files = kind == TextPart::kValid && !valid_files(config).empty();
    data::TextConfig c = corpus(config, own_files ? valid_files(config) : train_files(config));
    if (holds_out(config)) {
      c.part = {kind, config.data.valid_share, config.data.valid_split == "random", bytes_,
                static_cast<uint64_t>(config.train.seed)};
    }
    return c;
  }

  // What a tokenizer learns from a conversation: what was said; the marks around it are no words. Characters that are all
  // there is must know those of the marks too.
  static std::string tokenizer_text(const TrainConfig& config, const data::TextPiece& piece) {
    if (!is_chat(config)) return piece.text;
    std::string text;
    for (const text::Message& message : data::read_chat_line(piece.text).messages) {
      const bool marks = config.text.tokenizer == "char";
      text += marks ? text::kMessageBegin + message.role + "\n" : "";
      text += message.content + (marks ? text::kMessageEnd : "") + "\n";
    }
    return text;
  }

  // For the tokenizer; of a very large text an even sample.
  text::LineSource texts(const TrainConfig& config, const Preparation& preparation) const {
    auto all = std::make_shared<data::TextCorpus>(part(config, TextPart::kTrain));
    auto random = std::make_shared<Random>(static_cast<uint64_t>(config.train.seed), kSampleStream);
    auto pieces = std::make_shared<int64_t>(0);
    const double share = kMostToLearnFrom / static_cast<double>(bytes_);
    return [all, random, pieces, share, &config, &preparation](std::string& text) {
      for (data::TextPiece piece; all->next(piece);) {
        if (++*pieces % kPiecesBetween == 0 || !piece.ends) preparation.at("reading", all->progress());
        if (share < 1 && random->uniform() >= share) continue;
        text = tokenizer_text(config, piece);
        return true;
      }
      return false;
    };
  }

  void build_staged_store(const TrainConfig& config, TextPart::Kind kind, const Preparation& preparation) const {
    const bool valid = kind == TextPart::kValid;
    const std::string staging = staging_of(config.save.out), path = staging + (valid ? "/valid.ids" : "/train.ids");
    const std::shared_ptr<const text::Tokenizer> tokenizer = text::load_tokenizer(staging);
    data::TextConfig how = part(config, kind);
    how.may_cut = tokenizer->cuts();
    data::TextCorpus text(how);
    data::BadChatLines bad(bad_lines(config));
    const auto progress = [&](double share) { preparation.at("tokenizing", share); };
    data::TextStoreReport report;
    if (is_chat(config)) {
      const auto chat = text::load_chat_template(staging);
      const data::ChatFormat format{*tokenizer, *chat, text::chat_start(*tokenizer, *chat)};
      report = data::build_chat_store(path, text, format, bad, progress);
    } else {
      report = data::build_text_store(path, text, *tokenizer, progress);
    }
    const data::TextStore store = data::TextStore::open(path);
    if (store.documents() == 0) {
      fail_file("[train] no document is left to {} with: {} of all text are held out (--valid-share){}",
                valid ? "validate" : "train", config.data.valid_share, bad.count() > 0 ? "; " + bad.text() : "");
    }
    std::string left_out = report.no_tokens.count > 0 ? data::describe(report.no_tokens, "without a token") : "";
    if (bad.count() > 0) left_out += (left_out.empty() ? "" : ", ") + bad.text();
    tell_store(left_out, report.unknown, store.tokens(), preparation.observer);
  }

  int64_t bytes_ = 0;  // of all text to train with, and to hold some of it out
  LmData data_;
};

}  // namespace

std::unique_ptr<Task> make_lm_task() { return std::make_unique<LmTask>(); }

}  // namespace heed::train
