#include <fstream>
#include <nlohmann/json.hpp>

#include "heed/base/error.h"
#include "heed/io/test_files.h"
#include "heed/train/bleu.h"
#include "heed/train/bootstrap.h"
#include "heed/train/chrf.h"
#include "heed/train/ngrams.h"

namespace heed::train {
namespace {

using Lines = std::vector<std::string>;

const nlohmann::json& golden() {
  static const nlohmann::json file =
      nlohmann::json::parse(content_of(std::string(HEED_SOURCE_DIR) + "/tests/golden/metrics.json"));
  return file;
}

TEST(Metrics, BleuIsSacrebleus) {
  size_t compared = 0;
  for (const nlohmann::json& test : golden()["cases"]) {
    const Lines hypotheses = test["hypotheses"], references = test["references"];
    for (const nlohmann::json& expected : test["bleu"]) {
      const BleuConfig config{bleu_tokens(expected["tokens"]), expected["lowercase"], expected["effective_order"]};
      const std::vector<int64_t> sum = bleu_counts(hypotheses, references, config).sum();
      const Bleu bleu = bleu_of_counts(sum, config);
      const std::string place = test["name"].get<std::string>() + " " + expected["signature"].get<std::string>();
      EXPECT_EQ(sum, expected["counts"].get<std::vector<int64_t>>()) << place;
      EXPECT_NEAR(bleu.score, expected["score"].get<double>(), 1e-9) << place;
      EXPECT_EQ(bleu.text(), expected["text"].get<std::string>()) << place;
      EXPECT_EQ(bleu_signature(config, "v"), expected["signature"].get<std::string>() + "|version:heed-v");
      ++compared;
    }
  }
  EXPECT_EQ(compared, 16u * 20u);
}

TEST(Metrics, ChrfIsSacrebleus) {
  size_t compared = 0;
  for (const nlohmann::json& test : golden()["cases"]) {
    const Lines hypotheses = test["hypotheses"], references = test["references"];
    for (const nlohmann::json& expected : test["chrf"]) {
      const ChrfConfig config{.word_order = expected["word_order"], .lowercase = expected["lowercase"]};
      const std::string place = test["name"].get<std::string>() + " " + expected["signature"].get<std::string>();
      EXPECT_NEAR(corpus_chrf(hypotheses, references, config), expected["score"].get<double>(), 1e-9) << place;
      EXPECT_EQ(chrf_name(config), expected["name"].get<std::string>());
      EXPECT_EQ(chrf_signature(config, "v"), expected["signature"].get<std::string>() + "|version:heed-v");
      ++compared;
    }
  }
  EXPECT_EQ(compared, 16u * 6u);
}

void expect_near_theirs(const BootstrapEstimate& found, const nlohmann::json& expected, const std::string& place) {
  EXPECT_NEAR(found.score, expected[0].get<double>(), 1e-4) << place;
  EXPECT_NEAR(found.mean, expected[1].get<double>(), 0.3) << place;
  EXPECT_NEAR(found.interval, expected[2].get<double>(), 0.4) << place;
}

// Other samples are drawn than theirs: the numbers are near, not equal.
TEST(Metrics, PairedBootstrapSaysWhatSacrebleusSays) {
  for (const nlohmann::json& test : golden()["paired"]) {
    const Lines references = test["references"], baseline = test["baseline"], system = test["system"];
    const std::string name = test["name"];
    const PairedBootstrap bleu =
        paired_bootstrap(bleu_counts(baseline, references), bleu_counts(system, references),
                         [](std::span<const int64_t> sum) { return bleu_of_counts(sum).score; });
    expect_near_theirs(bleu.baseline, test["bleu"]["baseline"], name + " bleu");
    expect_near_theirs(bleu.system, test["bleu"]["system"], name + " bleu");
    EXPECT_NEAR(bleu.p_value, test["bleu"]["p"].get<double>(), 0.04) << name;
    const PairedBootstrap chrf = paired_bootstrap(chrf_counts(baseline, references), chrf_counts(system, references),
                                                  [](std::span<const int64_t> sum) { return chrf_of_counts(sum); });
    expect_near_theirs(chrf.baseline, test["chrf"]["baseline"], name + " chrf");
    expect_near_theirs(chrf.system, test["chrf"]["system"], name + " chrf");
    EXPECT_NEAR(chrf.p_value, test["chrf"]["p"].get<double>(), 0.04) << name;
  }
}

TEST(Metrics, BootstrapDependsOnItsSeedAlone) {
  const Lines references = {"a b c d e", "f g h i j", "k l m n o"}, system = {"a b c d x", "f g h i j", "k y m n o"};
  const SentenceCounts ours = bleu_counts(system, references), theirs = bleu_counts(references, references);
  const auto score = [](std::span<const int64_t> sum) { return bleu_of_counts(sum).score; };
  const PairedBootstrap one = paired_bootstrap(theirs, ours, score), again = paired_bootstrap(theirs, ours, score);
  const PairedBootstrap other = paired_bootstrap(theirs, ours, score, {.seed = 2});
  EXPECT_EQ(one.system.mean, again.system.mean);
  EXPECT_EQ(one.p_value, again.p_value);
  EXPECT_NE(one.system.mean, other.system.mean);
  EXPECT_EQ(one.baseline.interval, 0);
  EXPECT_EQ(paired_bootstrap(ours, ours, score).p_value, 1);
}

TEST(Metrics, WrongInputIsOneLine) {
  const auto score = [](std::span<const int64_t>) { return 0.0; };
  EXPECT_EQ(message_of<Error>([] {
              corpus_bleu({"a"}, {"a", "b"});
            }),
            "[bleu] 1 hypotheses for 2 references, expected as many");
  EXPECT_EQ(message_of<Error>([] { corpus_chrf({}, {"b"}); }),
            "[chrf] 0 hypotheses for 1 references, expected as many");
  EXPECT_EQ(message_of<Error>([] { bleu_tokens("13b"); }), "[bleu] unknown tokenizer '13b': did you mean '13a'?");
  EXPECT_EQ(message_of<Error>([&] { paired_bootstrap(bleu_counts({}, {}), bleu_counts({}, {}), score); }),
            "[bootstrap] no sentences, expected at least 1");
  EXPECT_EQ(message_of<Error>([&] { paired_bootstrap(bleu_counts({"a"}, {"a"}), chrf_counts({"a"}, {"a"}), score); }),
            "[bootstrap] 1 sentences of 10 counts for 1 of 18, expected the same of both systems");
}

TEST(Ngrams, AreCountedAsOftenAsInBoth) {
  const std::vector<uint32_t> a = {1, 2, 1, 2, 1}, b = {1, 2, 1, 3};
  const std::vector<NgramCount> counts = count_ngrams(a, b, 5);
  const std::vector<std::array<int64_t, 3>> expected = {{5, 4, 3}, {4, 3, 2}, {3, 2, 1}, {2, 1, 0}, {1, 0, 0}};
  for (size_t n = 0; n < expected.size(); ++n) {
    EXPECT_EQ((std::array{counts[n].hypothesis, counts[n].reference, counts[n].matches}), expected[n]) << n;
  }
  EXPECT_EQ(count_ngrams({}, b, 2)[0].reference, 4);
}

}  // namespace
}  // namespace heed::train
