// What people get wrong with data and models: one line that says so, the right status, nothing half-written, nothing lost.
#include <sys/stat.h>

#include "heed/cli/trained_test.h"
#include "heed/data/test_images.h"

namespace heed::cli {
namespace {

class WrongInput : public Trained {
 protected:
  std::string en_ = (shared_ / "train.en").string(), ko_ = (shared_ / "train.ko").string();
  std::string out_;

  void SetUp() override {
    Trained::SetUp();
    out_ = (folder_ / "made" / "model").string();
  }
  // A run that must not begin, and leaves no trace of its folder.
  void refuse(std::vector<std::string> more, int status, const std::string& part, const char* kind = "translate") {
    more.insert(more.begin(), {"train", kind, "--quiet", "--out", out_});
    expect_wrong("", more, status, part);
    EXPECT_FALSE(fs::exists(folder_ / "made")) << testing::PrintToString(more);
  }
  void refuse_with_data(std::vector<std::string> more, int status, const std::string& part) {
    more.insert(more.begin(), {"--src", en_, "--tgt", ko_});
    refuse(more, status, part);
  }
  void refuse_text(const std::vector<std::string>& more, int status, const std::string& part) {
    refuse(more, status, part, "lm");
  }
  void refuse_config(const std::string& toml, const std::string& part) {
    expect_wrong("", {"train", file("run.toml", toml), "--quiet"}, 2, part);
  }
};

TEST_F(WrongInput, FilesOfSentences) {
  const std::string two = file("two.txt", "a b\nc d\n"), empty = file("empty.txt", ""),
                    blank = file("blank.txt", "\n \n");
  const std::string latin1 = file("latin1.txt", "caf\xE9\nfine\n"),
                    binary = file("binary.txt", std::string("\0\1\2\n\xFF\xFE\0\n", 8));
  refuse({"--src", (folder_ / "tow.txt").string(), "--tgt", two}, 1, "no such file; did you mean");
  refuse({"--src", folder_.string(), "--tgt", two}, 1, "it is a folder");
  refuse({"--src", two, "--tgt", ko_}, 1, "2 in " + two + ", 300 in " + ko_);
  refuse({"--src", en_}, 2, "data.src is there and data.tgt is missing");
  refuse({"--tgt", ko_}, 2, "data.tgt is there and data.src is missing");
  refuse({}, 2, "no sentences to train with");
  refuse({"--tsv", two, "--src", two, "--tgt", two}, 2, "both data.tsv and data.src");
  refuse({"--src", empty, "--tgt", empty}, 1, "no sentence pair to train with");
  refuse({"--src", blank, "--tgt", two}, 1, "skipped 2 empty (" + blank + ":1");
  refuse({"--tsv", two}, 1, "skipped 2 without a tab (" + two + ":1");
  refuse({"--tsv", two, "--bad-lines", "refuse"}, 1, two + ":1");
  refuse({"--src", latin1, "--tgt", two, "--bad-lines", "refuse"}, 1, latin1 + ":1 is not UTF-8 text");
  refuse({"--src", binary, "--tgt", two}, 1, "skipped 2 not UTF-8 (" + binary + ":1");
  refuse_with_data({"--valid-src", two}, 2, "data.valid_src and data.valid_tgt go together");
  refuse_with_data({"--valid-src", two, "--valid-tgt", empty, "--vocabulary", "400"}, 1,
                   "2 in " + two + ", 0 in " + empty);
  refuse_with_data({"--valid-tsv", two, "--vocabulary", "400"}, 1, "no sentence pair to validate with");
  refuse_with_data({"--valid-tsv", (folder_ / "none").string()}, 1, "no such file");
  refuse_with_data({"--max-length", "2", "--bad-lines", "refuse"}, 1, "tokens");
  refuse_with_data({"--from", (folder_ / "none").string()}, 1, "is no folder, expected a model directory");
  // Also in the words of the default.
  refuse_with_data({"--from", model_, "--tokenizer", "bpe"}, 2, "text.tokenizer is said, and");
  refuse_with_data({"--from", model_, "--joint"}, 2, "text.joint is said, and");
  refuse_with_data({"--from", model_, "--d-model", "64"}, 2, "model.d_model is 64, and '" + model_ + "' of model.from has 32");
}

TEST_F(WrongInput, FilesOfText) {
  const std::string text = file("text.txt", "to be or not to be\nthat is the question\n"),
                    empty = file("empty.txt", "");
  const std::string binary = file("binary.txt", std::string("\0\1\2", 3));
  fs::create_directory(folder_ / "folder");
  refuse_text({}, 2, "no text to train with: expected data.text (--text F...)");
  refuse_text({"--text", (folder_ / "tetx.txt").string()}, 1, "no such file; did you mean");
  refuse_text({"--text", (folder_ / "folder").string()}, 1, "holds no file");
  refuse_text({"--text", empty}, 1, "no text to train with: 0 documents of 0 bytes; skipped 1 empty");
  refuse_text({"--text", binary}, 1, "skipped 1 not UTF-8 (" + binary + ")");
  refuse_text({"--text", binary, "--bad-lines", "refuse"}, 1, binary + " is not UTF-8 text");
  refuse_text({"--text", text, "--valid-text", (folder_ / "none").string()}, 1, "no such file");
  refuse_text({"--text", text, "--valid-split", "random"}, 1, "no document is left to ");
  refuse_text({"--text", text, "--valid-share", "1.5"}, 2, "data.valid_share is 1.5, expected 0 to 0.9");
  refuse_text({"--text", text, "--vocabulary", "100000"}, 2, "is larger than the text allows, expected at most");
  refuse_text({"--text", text, "--normalization", "nfkc"}, 2, "the bpe tokenizer takes text as it is");
  refuse_text({"--text", text, "--arch", "gpt3"}, 2, "model.arch is 'gpt3', did you mean 'gpt2'?");
  refuse_text({"--text", text, "--kv-heads", "3"}, 2, "4 heads over 3 key heads");
  refuse_text({"--text", text, "--bias", "maybe"}, 2, "model.bias is of type string, expected true or false");
  refuse_text({"--text", text, "--src", text}, 2, "'--src' is a flag of another kind of model, not of 'lm'");
  refuse_text({"--text", text, "--set", "model.encoder_layers=3"}, 2, "is a key of the task 'translate'");
  refuse_text({"--text", text, "--from", (folder_ / "none").string()}, 1, "none");
  refuse_text({"--text", text, "--from", model_}, 1, "is a translator, expected a language model");
  // Also in the words of the default.
  for (const char* arch : {"gpt2", "llama"})
    refuse_text({"--text", text, "--from", model_, "--arch", arch}, 2, "model.arch is said, and");
  refuse_text({"--text", text, "--from", model_, "--tokenizer", "bpe"}, 2, "text.tokenizer is said, and");
  refuse_text({"--text", text, "--from", model_, "--set", "model.arch=gpt2"}, 2, "model.arch is said, and");
  const std::string config = file("lm.toml", "task = 'lm'\ndata.text = '" + text + "'\nsave.out = '" + out_ + "'\n");
  expect_wrong("", {"train", config, "--quiet", "--encoder-layers", "3"}, 2,
               "--encoder-layers is a flag of the task 'translate', and '" + config + "' is of 'lm'");
  expect_wrong("", {"train", "ml"}, 2, "unknown kind 'ml': did you mean 'lm'?");
}

TEST_F(WrongInput, FilesOfImages) {
  const auto refuse_images = [this](const std::vector<std::string>& more, int status, const std::string& part) {
    refuse(more, status, part, "pixels");
  };
  const std::string images = file("images", data::idx_images(data::patterns(6, 4))), empty = file("empty", ""),
                    labels = file("labels", data::idx_labels({0, 1, 2, 0, 1, 2})),
                    few = file("few", data::idx_labels({0})),
                    large = file("large", data::idx_images(data::patterns(2, 5))),
                    cut = file("cut", data::idx_images(data::patterns(6, 4)).substr(0, 100));
  refuse_images({}, 2, "no images to train with: expected data.images (--images F)");
  refuse_images({"--images", (folder_ / "image").string()}, 1, "no such file; did you mean");
  refuse_images({"--images", empty}, 1, "has 0 bytes, expected an IDX file of images");
  refuse_images({"--images", labels}, 1, "is an IDX file of 1 dimensions, expected the 3 of images");
  refuse_images({"--images", images, "--labels", images}, 1,
                "is an IDX file of 3 dimensions, expected the 1 of labels");
  refuse_images({"--images", images, "--labels", few}, 1, "has 1 labels, '" + images + "' has 6 images");
  refuse_images({"--images", cut}, 1, "is cut short in image 6 of 6");
  refuse_images({"--images", images, large}, 1, large + ":1 is 5 x 5 pixels, expected 4 x 4 as " + images + ":1");
  refuse_images({"--images", images, "--valid-images", large}, 1,
                "is 5 x 5 pixels, expected 4 x 4 or a whole multiple");
  refuse_images({"--images", images, "--size", "3"}, 2, "not reduced to 3 in a row: expected one of 4, 2, 1");
  refuse_images({"--images", images, "--levels", "1"}, 2, "data.levels is 1, expected 2 to 256");
  refuse_images({"--images", images, "--context", "7"}, 2,
                "'--context' is a flag of another kind of model, not of 'pixels'");
  refuse_images({"--images", images, "--classes", "a", "b"}, 1, "has no class: expected one of 2");
  data::put_png((folder_ / "folder" / "coat" / "a.png").string(), data::pattern(4, 0, 1));
  data::put_png((folder_ / "folder" / "coat" / "b.png").string(), data::pattern(6, 0, 1));
  refuse_images({"--images", (folder_ / "folder").string()}, 1, "b.png is 6 x 6 pixels, expected 4 x 4 as ");
  file("folder/coat/b.png", "no picture");
  refuse_images({"--images", (folder_ / "folder").string()}, 1, "b.png' cannot be read: ");
  expect_wrong("", {"train", "pixel"}, 2, "unknown kind 'pixel': did you mean 'pixels'?");
}

TEST_F(WrongInput, NumbersAndNames) {
  refuse_with_data({"--vocabulary", "100000"}, 2,
                   "vocabulary 100000 is larger than the text allows, expected at most ");
  refuse_with_data({"--vocabulary", "3"}, 2, "vocabulary is 3, expected at least 260");
  refuse_with_data({"--heads", "5"}, 2, "128 features by 5 heads");
  refuse_with_data({"--d-model", "-8"}, 2, "model.d_model is -8, expected 0 to");
  refuse_with_data({"--encoder-layers", "-2"}, 2, "model.encoder_layers is -2, expected 0 to 1000");
  refuse_with_data({"--dropout", "1"}, 2, "model.dropout is 1, expected ");
  refuse_with_data({"--dropout", "-0.5"}, 2, "a dropout of -0.5: expected 0 to 0.999, or -1 for the preset's");
  refuse_with_data({"--learning-rate", "nan"}, 2, "train.learning_rate is nan, expected 0 to 1000");
  refuse_with_data({"--learning-rate", "inf"}, 2, "train.learning_rate is inf");
  refuse_with_data({"--warmup", "-2"}, 2, "train.warmup is -2, expected -1 to");
  refuse_with_data({"--max-steps", "1.5"}, 2, "expected a whole number");
  refuse_with_data({"--max-steps", "many"}, 2, "expected a whole number");
  refuse_with_data({"--max-stepz", "3"}, 2, "unknown flag '--max-stepz': did you mean '--max-steps'?");
  refuse_with_data({"--tokenizer", "bpee"}, 2, "text.tokenizer is 'bpee', did you mean 'bpe'?");
  refuse_with_data({"--positions", "xyzzy"}, 2, "expected one of sinusoidal, learned, rotary");
  refuse_with_data({"--set", "train.max_stepz=3"}, 2, "unknown key 'train.max_stepz', did you mean 'train.max_steps'?");
  refuse_with_data({"--set", "train.max_steps"}, 2, "expected key=value");
  expect_wrong("", {"train", "translate", "--src", en_, "--tgt", ko_}, 2, "nowhere to write");
  expect_wrong("", {"train"}, 2, "expected a config file or a kind of model: translate, lm, pixels");
  expect_wrong("", {"train", "translat"}, 2, "did you mean 'translate'?");
}

TEST_F(WrongInput, ConfigFiles) {
  refuse_config("[train]\nmax_steps = \"x\"\n",
                "run.toml:2:13: train.max_steps is of type string, expected a whole number");
  refuse_config("[train]\nmax_stpes = 3\n",
                "run.toml:2:13: unknown key 'train.max_stpes', did you mean 'train.max_steps'?");
  refuse_config("[trian]\nmax_steps = 3\n", "unknown key 'trian.max_steps', did you mean 'train.max_steps'?");
  refuse_config("[train]\nbeta1 = true\n", "run.toml:2:9: train.beta1 is of type boolean, expected a number");
  refuse_config("[model]\nheads = -1\n", "run.toml:2:9: model.heads is -1, expected 0 to");
  refuse_config("max_steps = 3\n", "run.toml:1:13: 'max_steps' is a key of a table, expected train.max_steps");
  refuse_config("[train]\nschedule = \"paper\"\nlearning_rate = 0.1\n", "whose rate follows from d_model");
  refuse_config("[text]\ntokenizer = \"char\"\nvariants = 4\n", "only bpe cuts a text in several ways");
  refuse_config("[train\n", "run.toml:1:7");
  refuse_config("\xFF\xFE", "run.toml:1:1");
  expect_wrong("", {"train", folder_.string()}, 1, "it is a folder");
  expect_wrong("", {"train", (folder_ / "none.toml").string()}, 1, "no such file");
}

TEST_F(WrongInput, FoldersToWrite) {
  const std::string taken = (folder_ / "taken").string();
  fs::create_directory(taken);
  std::ofstream(taken + "/precious.txt") << "mine";
  const std::vector<std::string> good = {"train", "translate", "--src",        en_,  "--tgt",
                                         ko_,     "--quiet",   "--vocabulary", "400"};
  const auto into = [&](const std::string& out) {
    std::vector<std::string> all = good;
    all.insert(all.end(), {"--out", out});
    return all;
  };
  expect_wrong("", into(taken), 2, "is no model, and is not empty: expected another folder");
  std::vector<std::string> all_the_same = into(taken);
  all_the_same.emplace_back("--overwrite");
  expect_wrong("", all_the_same, 2, "is no model, and is not empty: expected another folder");
  EXPECT_EQ(read_all(taken + "/precious.txt"), "mine");
  expect_wrong("", into(model_), 2, "exists already: --resume goes on with it, --overwrite replaces it");
  const std::string plain = file("plain", "x");
  expect_wrong("", into(plain), 1, "is a file, expected a folder");
  expect_wrong("", into(plain + "/model"), 1, "Not a directory");
  expect_wrong("", into("/proc/heed/model"), 1, "cannot make '/proc/heed/model");
  EXPECT_EQ(read_all(plain), "x");

  // A request that cannot be met loses nothing of the model that it was to replace.
  const std::string model = copy_of_model();
  const auto replace = [&](std::vector<std::string> more, int status, const std::string& part) {
    more.insert(more.begin(), {"train", "translate", "--quiet", "--overwrite", "--out", model});
    expect_wrong("", more, status, part);
    for (const char* name : {"config.json", "model.safetensors", "source.spm", "vocab.json", "train.toml"}) {
      EXPECT_EQ(read_all(model + "/" + name), read_all(model_ + "/" + name)) << part << " " << name;
    }
  };
  replace({"--src", en_, "--tgt", file("two.txt", "a\nb\n")}, 1, "unequal numbers of lines");
  replace({"--src", en_, "--tgt", ko_, "--vocabulary", "100000"}, 2, "larger than the text allows");
  replace({"--src", en_, "--tgt", ko_, "--heads", "5"}, 2, "by 5 heads");
  replace({"--src", en_, "--tgt", ko_, "--weight-decay", "0.01"}, 2, "expected AdamW");
  replace({"--src", en_, "--tgt", ko_, "--schedule", "cosine", "--max-epochs", "3"}, 2, "ends at train.max_steps");
  replace({"--src", en_, "--tgt", ko_, "--minimum-rate", "1"}, 2, "expected 0 <= minimum <= peak");
  replace({"--src", en_, "--tgt", ko_, "--vocabulary", "400", "--valid-tsv", file("x", "a\n")}, 1,
          "no sentence pair to validate with");
}

TEST_F(WrongInput, DamagedModels) {
  const auto damage = [&](const std::string& name, const std::string& content, const std::string& part) {
    const std::string copy = copy_of_model();
    std::ofstream(copy + "/" + name, std::ios::binary) << content;
    expect_wrong("the cat\n", {"translate", copy}, 1, part);
    fs::remove_all(copy);
  };
  const auto good = [&](const std::string& name) { return read_all(model_ + "/" + name); };
  damage("config.json", "{", "config.json' is no JSON object");
  damage("config.json", R"({"model_type": "bert"})", "a model of type 'bert', expected marian, gpt2");
  damage("config.json", std::string(100, '\xFF'), "is no JSON object");
  damage("model.safetensors", good("model.safetensors").substr(0, 1000), "model.safetensors");
  damage("model.safetensors", "", "model.safetensors");
  damage("model.safetensors", std::string(5000, 'x'), "model.safetensors");
  damage("source.spm", good("source.spm").substr(0, 700), "source.spm");
  damage("source.spm", "text", "source.spm");
  damage("vocab.json", "[]", "vocab.json");
  damage("vocab.json", R"({"a": 0})", "vocab.json");
  json config = json::parse(good("config.json"));
  config["encoder_layers"] = 2;
  damage("config.json", config.dump(), "16 missing: model.encoder.layers.1.");
  config["encoder_layers"] = int64_t{1'000'000'000'000};
  damage("config.json", config.dump(), "layers is 1000000000000: expected 0 to 1000");
  config = json::parse(good("config.json"));
  config["vocab_size"] = config["decoder_vocab_size"] = 200;
  damage("config.json", config.dump(), "misshapen: model.shared.weight");
  for (const char* command : {"translate", "info", "tokenize"}) {
    expect_wrong("", {command, (folder_ / "none").string()}, 1, "is no folder");
    expect_wrong("", {command, file("plain", "x")}, 1, "is no folder");
  }
  expect_wrong("", {"translate", folder_.string()}, 1, "has no config.json");
}

TEST_F(WrongInput, RequestsToModels) {
  expect_wrong("", {"translate"}, 2, "MODEL");
  expect_wrong("", {"translate", model_, "--beam", "0"}, 2, "--beam '0': expected a whole number from 1 to 256");
  expect_wrong("", {"translate", model_, "--nbest", "3", "--beam", "2"}, 2, "--nbest 3 of a beam of 2");
  expect_wrong("", {"translate", model_, "--temperature", "2"}, 2, "expected --sample");
  expect_wrong("", {"translate", model_, "--sample", "--beam", "2"}, 2, "draws are no search");
  expect_wrong("", {"translate", model_, "--sample", "--temperature", "0"}, 2, "--temperature '0'");
  expect_wrong("", {"translate", model_, "--sample", "--top-p", "nan"}, 2, "expected a finite number");
  expect_wrong("", {"translate", model_, "--alignment", "--ids"}, 2, "words are aligned, and ids are none");
  expect_wrong("", {"translate", model_, "--long", "cut"}, 2, "--long unknown 'cut'");
  expect_wrong("", {"translate", model_, "--input", (folder_ / "none").string()}, 1, "no such file");
  expect_wrong("", {"translate", model_, "--input", folder_.string()}, 1, "it is a folder");
  expect_wrong("a\n", {"translate", model_, "--output", "none/out.txt"}, 1, "none");
  expect_wrong("", {"eval", model_, "--src", en_}, 2, "--ref");
  // Before anything is translated: the first model's translations are not saved where the second is none.
  const std::string saved = (folder_ / "saved.txt").string(), nowhere = (folder_ / "none/saved.txt").string();
  expect_wrong("", {"eval", model_, "--src", en_, "--ref", ko_, "--compare", "none", "--save", saved}, 1, "'none'");
  EXPECT_FALSE(fs::exists(saved));
  expect_wrong("", {"eval", "none", "--src", en_, "--ref", ko_, "--save", nowhere}, 1, nowhere);
  for (const std::string& read : {en_, ko_}) {
    expect_wrong("", {"eval", model_, "--src", en_, "--ref", ko_, "--save", read}, 2, "is a file that is read");
    expect_wrong("", {"score", model_, "--src", en_, "--tgt", ko_, "--output", read}, 2, "is a file that is read");
  }
  expect_wrong("", {"eval", model_, "--src", en_, "--ref", file("two.txt", "a\nb\n")}, 1, "has 300 lines, ");
  expect_wrong("", {"eval", model_, "--src", file("e", ""), "--ref", file("f", "")}, 1, "has no lines");
  expect_wrong("", {"eval", model_, "--src", en_, "--ref", ko_, "--tokenize", "13b"}, 2, "did you mean '13a'?");
  expect_wrong("", {"score", model_, "--src", en_}, 2, "--src and --tgt go together");
  expect_wrong("a\tb\nc\n", {"score", model_}, 1, "standard input:2 has no tab");
  expect_wrong("", {"score", model_, "--src", en_, "--tgt", ko_, "--input", en_}, 2, "both --src and --input");
  expect_wrong("5 x\n", {"tokenize", model_, "--decode"}, 1, "standard input:1: 'x', expected an id from 0 to ");
  expect_wrong("", {"tokenize", model_, "--side", "sorce"}, 2, "did you mean 'source'?");
}

}  // namespace
}  // namespace heed::cli
