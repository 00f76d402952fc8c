// What `heed show` prints and draws.
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>

#include "heed/cli/program_test.h"

namespace heed::cli {
namespace {

void expect_near(const json& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i].get<double>(), expected[i], tolerance) << i;
}

TEST_F(Program, EveryShowPrintsTextWithoutColoursIntoAFile) {
  for (const auto& show : kShows) {
    const Outcome outcome = run(show);
    EXPECT_EQ(outcome.status, 0) << testing::PrintToString(show) << outcome.err;
    EXPECT_EQ(outcome.err, "") << testing::PrintToString(show);
    EXPECT_GT(outcome.out.size(), 100u) << testing::PrintToString(show);
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << testing::PrintToString(show);
    EXPECT_EQ(outcome.out.find("nan"), std::string::npos) << testing::PrintToString(show) << outcome.out;
  }
}

TEST_F(Program, EveryShowGivesOneLineOfJson) {
  for (const auto& show : kShows) EXPECT_EQ(run_json(show)["show"], show[1]);
}

TEST_F(Program, PicturesOfPositionsShowWhatIsThere) {
  const auto drawn = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"show", "positions", "--out", "p.svg"};
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(run(all).status, 0);
    return read_all(folder_ / "work" / "p.svg");
  };
  EXPECT_EQ(drawn({"--kind", "none"}).find("along the positions"), std::string::npos);
  EXPECT_EQ(drawn({"--kind", "learned"}).find(">-0.00<"), std::string::npos);
  const std::string many = drawn({"--length", "100", "--dim", "128"});
  EXPECT_NE(many.find("6 of the 128 features along the positions"), std::string::npos);
  EXPECT_NE(many.find(">sin0</text>"), std::string::npos);
  EXPECT_NE(many.find(">sin63</text>"), std::string::npos);
}

TEST_F(Program, ATransposeIsWrittenTheSameEverywhere) {
  EXPECT_EQ(run({"show", "attention", "--out", "a.png"}).err, "heed: wrote a.png\n");  // the font has it
  EXPECT_EQ(run({"show", "attention", "--out", "a.svg"}).status, 0);
  const std::string svg = read_all(folder_ / "work" / "a.svg");
  EXPECT_NE(svg.find(">Q Kᵀ<"), std::string::npos);
  EXPECT_EQ(svg.find("K^T"), std::string::npos);
}

TEST_F(Program, TellsWhenAPngLacksCharacters) {
  const auto drawn = [&](const std::string& labels, const std::string& name) {
    return run({"show", "attention", "--labels", labels, "--out", name}).err;
  };
  EXPECT_EQ(drawn("나는 밥을 먹었다", "a.svg"), "heed: wrote a.svg\n");
  EXPECT_EQ(drawn("나는 밥을 먹었다", "a.png"), "heed: wrote a.png\n");
  EXPECT_NE(drawn("我 吃了 飯", "c.png").find("a .svg has them"), std::string::npos);
  EXPECT_EQ(run({"show", "mask", "--out", "b.png"}).err, "heed: wrote b.png\n");
  EXPECT_NE(read_all(folder_ / "work" / "a.svg").find("먹었다"), std::string::npos);
}

// Elements opened and closed in order, attributes quoted: what a strict reader checks first.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at)) {
    const size_t end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    std::string tag = xml.substr(at + 1, end - at - 1);
    ASSERT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  EXPECT_TRUE(open.empty());
  for (size_t at = xml.find('&'); at != std::string::npos; at = xml.find('&', at + 1)) {
    EXPECT_LT(xml.find(';', at), at + 7);
  }
}

void expect_drawing(const fs::path& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0) << image.message;
  EXPECT_GT(image.width, 200u);
  EXPECT_LT(image.width, 4000u);
  const auto inked = std::count_if(pixels.begin(), pixels.end(), [](uint8_t v) { return v < 200; });
  EXPECT_GT(inked, 500);
}

TEST_F(Program, EveryShowDrawsSvgAndPng) {
  for (auto show : kShows) {
    show.insert(show.end(), {"--quiet", "--out", "picture.svg"});
    Outcome outcome = run(show);
    ASSERT_EQ(outcome.status, 0) << testing::PrintToString(show) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const std::string svg = read_all(folder_ / "work" / "picture.svg");
    EXPECT_EQ(svg.find("nan"), std::string::npos) << testing::PrintToString(show);
    EXPECT_EQ(svg.find("inf"), std::string::npos) << testing::PrintToString(show);
    expect_well_formed(svg);
    show.back() = "picture.png";
    outcome = run(show);
    ASSERT_EQ(outcome.status, 0) << testing::PrintToString(show) << outcome.err;
    expect_drawing(folder_ / "work" / "picture.png");
  }
  // The pictures are whole, and nothing is left beside them.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "work"), fs::directory_iterator{}), 2);
}

TEST_F(Program, AttentionGivesTheWorkedExample) {
  const json shown = run_json({"show", "attention"});
  const json& step = shown["steps"][0];
  expect_near(step["scores"][0], {1, 1, 2}, 0);
  expect_near(step["scores"][1], {1, 1, 0}, 0);
  expect_near(step["scores"][2], {2, 0, 1}, 0);
  expect_near(step["scaled"][0], {0.5, 0.5, 1}, 0);
  expect_near(step["weights"][0], {0.274069, 0.274069, 0.451863}, 5e-7);
  expect_near(shown["output"][0], {5.711177, 6.711177, 7.711177, 8.711177}, 5e-7);
  expect_near(shown["output"][2], {4.202862, 5.202862, 6.202862, 7.202862}, 5e-7);
  EXPECT_LT(shown["engine"]["largest_difference"].get<double>(), 2e-6);
  const std::string text = run({"show", "attention"}).out;
  for (const char* part : {"0.274069", "0.451863", "5.711177", "7.202862"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST_F(Program, AttentionWithoutAScaleSaysSo) {
  EXPECT_NE(run({"show", "attention"}).out.find("softmax(Q Kᵀ / sqrt(d_k)) V"), std::string::npos);
  EXPECT_NE(run({"show", "attention", "--no-scale"}).out.find("softmax(Q Kᵀ) V"), std::string::npos);
}

TEST_F(Program, AMatrixMayBeginWithAByteOrderMark) {
  std::ofstream(folder_ / "q.txt") << "\xef\xbb\xbf"
                                   << "1 2\r\n3 4\r\n";
  const json shown = run_json({"show", "attention", "--q", (folder_ / "q.txt").string()});
  expect_near(shown["steps"][0]["q"][1], {3, 4}, 0);
}

TEST_F(Program, AttentionTakesMatricesFromTextAndFiles) {
  std::ofstream(folder_ / "q.txt") << "1 0\n0 1\n";
  std::ofstream(folder_ / "v.txt") << "1, 2, 3\n4, 5, 6\n";
  const json shown = run_json({"show", "attention", "--q", (folder_ / "q.txt").string(), "--k", "1 1; 0 1;", "--v",
                               (folder_ / "v.txt").string(), "--mask", "1 0; 0 0", "--no-scale"});
  const json& step = shown["steps"][0];
  expect_near(step["scaled"][0], {1, 0}, 0);
  EXPECT_EQ(step["masked"][0][0], 1);
  EXPECT_TRUE(step["masked"][0][1].is_null());
  expect_near(step["weights"][0], {1, 0}, 0);
  expect_near(step["weights"][1], {0, 0}, 0);  // all keys hidden: zeros
  expect_near(shown["output"][0], {1, 2, 3}, 0);
  expect_near(shown["output"][1], {0, 0, 0}, 0);
}

TEST_F(Program, AttentionHeadsShareTheColumns) {
  const json both =
      run_json({"show", "attention", "--q", "1 0 0 1", "--k", "1 0 2 1; 0 1 1 0", "--v", "1 2; 3 4", "--heads", "2"});
  ASSERT_EQ(both["steps"].size(), 2u);
  const json second = run_json({"show", "attention", "--q", "0 1", "--k", "2 1; 1 0", "--v", "2; 4"});
  EXPECT_EQ(both["steps"][1]["weights"], second["steps"][0]["weights"]);
  EXPECT_EQ(both["output"][0][1], second["output"][0][0]);
}

TEST_F(Program, PositionsGiveThePapersNumbers) {
  const json shown = run_json({"show", "positions", "--length", "100", "--dim", "4", "--shift", "7"});
  expect_near(shown["table"][0], {0, 1, 0, 1}, 0);
  expect_near(shown["table"][1], {0.841471, 0.540302, 0.010000, 0.999950}, 5e-7);
  EXPECT_LT(shown["shift"]["max_error"].get<double>(), 5e-7);
  EXPECT_EQ(shown["shift"]["blocks"].size(), 2u);
  EXPECT_NEAR(shown["between"][3][8].get<double>(), shown["between"][50][55].get<double>(), 1e-5);
  EXPECT_EQ(run_json({"show", "positions", "--kind", "alibi"})["slopes"][0], 0.5);
  const json noise = run_json({"show", "positions", "--kind", "learned"});
  EXPECT_EQ(noise, run_json({"show", "positions", "--kind", "learned", "--seed", "0"}));
  EXPECT_NE(noise, run_json({"show", "positions", "--kind", "learned", "--seed", "1"}));
}

// What lies in the folder does not change what a number means.
TEST_F(Program, NumbersComeBeforeFilesOfTheirName) {
  const json five = run_json({"show", "attention", "--q", "5"}), row = run_json({"show", "attention", "--q", "1 2"});
  for (const char* name : {"5", "1 2"}) std::ofstream(folder_ / "work" / name) << "7 8\n9 0\n";
  EXPECT_EQ(run_json({"show", "attention", "--q", "5"}), five);
  EXPECT_EQ(run_json({"show", "attention", "--q", "1 2"}), row);
  const json from_file = run_json({"show", "attention", "--q", "./5"});
  EXPECT_EQ(from_file, run_json({"show", "attention", "--q", "./1 2"}));
  EXPECT_EQ(from_file, run_json({"show", "attention", "--q", "7 8; 9 0"}));
}

TEST_F(Program, ScheduleGivesThePapersNumbers) {
  const json values = run_json({"show", "schedule", "--d-model", "512", "--warmup", "4000"})["values"];
  EXPECT_NEAR(values[0]["learning_rate"].get<double>(), 1.746928e-7, 5e-14);
  EXPECT_NEAR(values[1]["learning_rate"].get<double>(), 6.987712e-4, 5e-11);
  EXPECT_NEAR(values[2]["learning_rate"].get<double>(), 4.941059e-4, 5e-11);
  const std::string text = run({"show", "schedule"}).out;
  for (const char* part : {"1.746928e-07", "6.987712e-04", "4.941059e-04"})
    EXPECT_NE(text.find(part), std::string::npos);
  // The last step is told wherever it lies.
  const json middle = run_json({"show", "schedule", "--warmup", "4000", "--steps", "5000"})["values"];
  ASSERT_EQ(middle.size(), 4u);
  EXPECT_EQ(middle[2]["step"], 5000);
  // Without a warm-up there is none in the formula.
  const std::string at_once = run({"show", "schedule", "--warmup", "0"}).out;
  EXPECT_NE(at_once.find("512^-0.5 · step^-0.5\n"), std::string::npos) << at_once;
  for (const char* kind : {"cosine", "linear", "sqrt", "constant"}) {
    const std::string other = run({"show", "schedule", "--kind", kind, "--warmup", "0"}).out;
    EXPECT_NE(other.find("0.001 from the first step, "), std::string::npos) << other;
  }
}

TEST_F(Program, ShapesHeadsAndMasks) {
  const json shapes =
      run_json({"show", "shapes", "--d-model", "200", "--heads", "5", "--batch", "128", "--length", "32"})["shapes"];
  EXPECT_EQ(shapes["q"], json({128, 32, 200}));
  EXPECT_EQ(shapes["q split"], json({128, 5, 32, 40}));
  EXPECT_EQ(shapes["weights"], json({128, 5, 32, 32}));
  EXPECT_EQ(shapes["per-head output"], json({128, 5, 32, 40}));
  EXPECT_EQ(shapes["merged"], json({128, 32, 200}));
  const json heads = run_json({"show", "heads", "--d-model", "512", "--heads", "8"});
  EXPECT_EQ(heads["d_k"], 64);
  EXPECT_EQ(heads["scale"], 0.125);
  const json mask = run_json({"show", "mask", "--lengths", "3,1"});
  EXPECT_EQ(mask["causal"], json({{1, 0, 0}, {1, 1, 0}, {1, 1, 1}}));
  EXPECT_EQ(mask["padding"], json({{1, 1, 1}, {1, 0, 0}}));
  EXPECT_EQ(mask["combined"][1], json({{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}));
}

TEST_F(Program, SoftmaxLossAndAdam) {
  expect_near(run_json({"show", "softmax", "2.0", "1.0", "0.1"})["softmax"], {0.659001, 0.242433, 0.098566}, 1e-6);
  expect_near(run_json({"show", "softmax", "-1e30", "1e30"})["softmax"], {0, 1}, 0);
  expect_near(run_json({"show", "softmax", "-.5", "-0.5"})["softmax"], {0.5, 0.5}, 0);
  const json loss = run_json({"show", "loss"});
  EXPECT_NEAR(loss["cross_entropy"][0].get<double>(), 0.356675, 5e-7);
  EXPECT_NEAR(loss["perplexity"].get<double>(), 1 / 0.7, 1e-12);
  // 0.9 of -log 0.7, and 0.1 of the mean over ten tokens, nine of which have 0.3 / 9.
  EXPECT_NEAR(loss["smoothed"][0].get<double>(), -0.9 * std::log(0.7) - 0.01 * (std::log(0.7) + 9 * std::log(0.3 / 9)),
              1e-12);
  EXPECT_EQ(run_json({"show", "loss", "0.7", "--padding", "5"})["mean_loss"], loss["mean_loss"]);
  EXPECT_EQ(run({"show", "loss", "1", "--smoothing", "0"}).out.find("-0.0"), std::string::npos);
  // The first step of Adam is the learning rate against the sign of the gradient, whatever its size.
  const json adam = run_json({"show", "adam", "--gradients", "123 -5", "--lr", "0.01"})["steps"];
  EXPECT_NEAR(adam[0]["change"].get<double>(), -0.01, 1e-7);
  EXPECT_NEAR(adam[0]["m_corrected"].get<double>(), 123, 1e-4);
  EXPECT_NEAR(adam[0]["v_corrected"].get<double>(), 123 * 123, 0.1);
  EXPECT_NEAR(adam[1]["m"].get<double>(), 0.9 * 12.3 - 0.5, 1e-5);
  const json two = run_json({"show", "adam", "--gradients", "1 2"})["steps"];
  EXPECT_NEAR(two[0]["v_corrected"].get<double>(), 1, 1e-7);
  EXPECT_NEAR(two[1]["m_corrected"].get<double>(), 0.29 / 0.19, 2e-7);
  EXPECT_NEAR(two[1]["v_corrected"].get<double>(), 0.0996 / 0.0396, 3e-7);
}

// Whatever numbers come, and what comes of them.
TEST_F(Program, ExtremesAreShownAsTheyAre) {
  EXPECT_EQ(
      run({"show", "adam", "--weight", "-999999.9999999999", "--lr", "1e-12", "--steps", "3", "--out", "a.svg"}).status,
      0);
  // The kernel takes the scale into the queries, whose range that leaves.
  const std::vector<std::string> beyond = {"show", "attention", "--no-scale", "--q", "3e38", "--k", "1e-30;0"};
  EXPECT_NE(run(beyond).out.find("in tiles and f32, is not finite here"), std::string::npos) << run(beyond).out;
  EXPECT_EQ(run_json(beyond)["engine"]["largest_difference"], json());
}

TEST_F(Program, ParamsCountsTheReferenceShapes) {
  const auto total = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> all = {"show", "params"};
    all.insert(all.end(), flags.begin(), flags.end());
    return run_json(all)["total"].get<int64_t>();
  };
  EXPECT_EQ(total({"--d-model", "16", "--heads", "4", "--layers", "2", "--d-ff", "32"}), 11200);
  EXPECT_EQ(total({"--d-model", "512", "--heads", "8", "--layers", "6"}), 44140544);
  EXPECT_EQ(total({"--preset", "encoder"}), 4739072);
  EXPECT_EQ(total({"--preset", "gpt2"}), 124439808);
  EXPECT_EQ(total({"--preset", "gpt2", "--d-model", "1024", "--heads", "16", "--layers", "24"}), 354823168);
  EXPECT_NEAR(run_json({"show", "params"})["feed_forward_share_of_block"].get<double>(), 2.0 / 3, 0.001);
  EXPECT_NE(run({"show", "params", "--preset", "base"}).out.find("44,140,544: 2,048 more"), std::string::npos);
}

TEST_F(Program, ParamsOfAPresetWithAnotherBodyKeepItsShape) {
  const json decoder = run_json({"show", "params", "--preset", "llama"});
  const json encoder = run_json({"show", "params", "--preset", "llama", "--family", "encoder"});
  for (const char* key : {"d_model", "layers", "heads", "d_ff", "block"}) EXPECT_EQ(encoder[key], decoder[key]) << key;
  EXPECT_EQ(encoder["stacks"], decoder["stacks"]);
  const json both = run_json({"show", "params", "--preset", "encoder", "--family", "encoder-decoder"});
  EXPECT_EQ(both["d_model"], 256);
  EXPECT_EQ(both["block"], run_json({"show", "params", "--preset", "encoder"})["block"]);
}

TEST_F(Program, HelpAndVersionAreAnswers) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"--help"}, {"--version"}, {"show"}, {"show", "--help"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find(arguments == std::vector<std::string>{"--version"} ? "heed " : "show"),
              std::string::npos);
  }
  for (const auto& show : kShows) {
    const Outcome outcome = run({"show", show[1], "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("Usage: heed show " + show[1]), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("Example:\n  heed show " + show[1]), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("--out"), std::string::npos);
    EXPECT_NE(outcome.out.find("--threads"), std::string::npos);
  }
}

}  // namespace
}  // namespace heed::cli
