// Trains a small translator from English to German numbers on sentences made here, and translates some it never saw.
#include <heed/tasks/translator.h>
#include <heed/train/run.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

const std::string kEnglish[] = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"};
const std::string kGerman[] = {"eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"};

// "two plus three" and "zwei plus drei"; three and eight stand side by side only in the test.
void write_sentences(const std::string& path) {
  std::ofstream file(path);
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      if (a == 2 && b == 7) continue;
      file << kEnglish[a] << " plus " << kEnglish[b] << '\t' << kGerman[a] << " plus " << kGerman[b] << '\n';
    }
  }
}

void train(const std::string& folder) {
  write_sentences(folder + "/train.tsv");
  heed::train::TrainConfig config;
  config.data.tsv = {folder + "/train.tsv"};
  config.text.tokenizer = "word";
  config.model.preset = "tiny";
  config.model.encoder_layers = config.model.decoder_layers = 1;
  config.model.dropout = 0;
  config.train.batch_tokens = 256;
  config.train.learning_rate = 3e-3;
  config.train.warmup = 50;
  config.train.max_steps = 200;
  config.save.out = folder + "/model";
  heed::train::Observer silent;
  heed::train::run_training(config, {.overwrite = true}, silent, /*should_stop=*/[] { return false; });
}

}  // namespace

int main() try {
  const std::string folder = (std::filesystem::temp_directory_path() / "heed-example-translate").string();
  std::filesystem::create_directories(folder);
  train(folder);
  const heed::tasks::Translator translator = heed::tasks::Translator::open(folder + "/model");
  for (const std::string& line : heed::tasks::translate(translator, {"three plus eight", "nine plus one"})) {
    std::printf("%s\n", line.c_str());
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "translate: %s\n", error.what());
  return 1;
}
