// heed's tokenizers for tools/golden/marian_tokenizers.py and language_tokenizers.py:
//   golden_tokenizers train KIND VOCABULARY joint|separate SOURCE TARGET FOLDER
//   golden_tokenizers ids FOLDER source|target      lines in, lines of ids out
//   golden_tokenizers text FOLDER source|target     lines of ids in, lines out
//   golden_tokenizers one FOLDER                    a language model's: lines of JSON text in, of ids and text out
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "heed/base/error.h"
#include "heed/text/train_tokenizer.h"

namespace {

using heed::text::LineSource;
using heed::text::Tokenizer;

void train(const std::vector<std::string>& arguments) {
  heed::text::TokenizerConfig config;
  config.kind = heed::text::tokenizer_kind(arguments.at(0));
  config.vocabulary = std::stoll(arguments.at(1));
  config.joint = arguments.at(2) == "joint";
  std::ifstream source(arguments.at(3)), target(arguments.at(4));
  const auto lines = [](std::ifstream& stream) {
    return [&stream](std::string& line) { return static_cast<bool>(std::getline(stream, line)); };
  };
  const auto trained = train_tokenizers(config, lines(source), lines(target));
  std::filesystem::create_directories(arguments.at(5));
  for (const auto& [name, content] : trained.files) {
    std::ofstream(arguments.at(5) + "/" + name, std::ios::binary) << content;
  }
}

void print_ids(const Tokenizer& tokenizer, const std::string& line) {
  const char* blank = "";
  for (const int32_t id : tokenizer.encode(line)) {
    std::cout << blank << id;
    blank = " ";
  }
  std::cout << '\n';
}

void print_text(const Tokenizer& tokenizer, const std::string& line) {
  std::istringstream words(line);
  std::vector<int32_t> ids;
  for (int32_t id = 0; words >> id;) ids.push_back(id);
  std::cout << tokenizer.decode(ids) << '\n';
}

void print_both(const Tokenizer& tokenizer, const std::string& line) {
  const std::vector<int32_t> ids = tokenizer.encode(nlohmann::json::parse(line).get<std::string>());
  std::cout << nlohmann::json{{"ids", ids}, {"text", tokenizer.decode(ids)}} << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.at(0) == "train") {
    train({arguments.begin() + 1, arguments.end()});
    return 0;
  }
  if (arguments.at(0) == "one") {
    const auto tokenizer = heed::text::load_tokenizer(arguments.at(1));
    for (std::string line; std::getline(std::cin, line);) print_both(*tokenizer, line);
    return 0;
  }
  const heed::text::TokenizerPair pair = heed::text::load_tokenizers(arguments.at(1));
  const Tokenizer& tokenizer = arguments.at(2) == "source" ? *pair.source : *pair.target;
  for (std::string line; std::getline(std::cin, line);) {
    arguments[0] == "ids" ? print_ids(tokenizer, line) : print_text(tokenizer, line);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
