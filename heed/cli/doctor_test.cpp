#include "heed/cli/bench_workload.h"
#include "heed/cli/doctor_checks.h"
#include "heed/cli/program_test.h"
#include "heed/models/decoder.h"

namespace heed::cli {
namespace {

// A small model with its gradients, and its loss.
struct Trained {
  Trained() {
    for (int i = 0; i < 12; ++i) batch.ids.push_back(i % 7), labels.push_back((i + 3) % 7);
    const std::vector<int64_t> lengths{5, 7};
    batch.spans = Spans(lengths);
    loss_of_batch().loss.backward();
    model.parameters.finish_gradients();
  }
  static models::ModelConfig config() {
    models::ModelConfig c = models::preset("chargpt");
    c.decoder.layers = 1;
    c.decoder.d_model = 16;
    c.decoder.heads = 2;
    c.decoder.d_ff = 24;
    c.decoder.dropout = {};
    c.decoder.init_deviation = 0;
    c.decoder.activation = kernels::Activation::kGelu;
    c.vocabulary = 7;
    return c;
  }
  LossResult loss_of_batch() const { return model.loss(batch, labels, {.scale = 0.0625f}, {}); }
  double loss() const {
    const NoGrad no_grad;
    return 0.0625 * loss_of_batch().nll;
  }
  Finding compare() const {
    return compare_gradients(model.parameters, [this] { return loss(); });
  }

  models::Decoder model{config(), 3};
  models::TokenBatch batch;
  std::vector<int32_t> labels;
};

TEST(Doctor, FindsRightGradientsRight) {
  const Trained t;
  const std::vector<float> before(t.model.parameters.values(),
                                  t.model.parameters.values() + t.model.parameters.arena_size());
  const Finding f = t.compare();
  EXPECT_EQ(f.verdict, Verdict::kGood) << f.detail;
  const std::vector<float> after(t.model.parameters.values(),
                                 t.model.parameters.values() + t.model.parameters.arena_size());
  EXPECT_EQ(before, after) << "the weights did not come back";
}

// Whatever has a gradient is missed when it is gone, wholly or by half.
TEST(Doctor, FindsGradientsThatAreMissing) {
  const Trained t;
  int missed = 0;
  for (const nn::Parameter& p : t.model.parameters.list()) {
    const std::vector<float> kept = p.tensor.grad().to_vector();
    double norm = 0;
    for (const float g : kept) norm += double{g} * g;
    // What moves next to nothing cannot be seen; a key's bias moves nothing at all: softmax ignores a shift.
    if (norm < 1e-6 * static_cast<double>(kept.size())) continue;
    for (const size_t share : {kept.size(), kept.size() / 2}) {
      std::fill_n(p.tensor.grad().data(), share, 0.0f);
      const Finding f = t.compare();
      EXPECT_EQ(f.verdict, Verdict::kBad) << p.name << " " << share << " of " << kept.size() << ": " << f.detail;
      EXPECT_NE(f.detail.find(p.name), std::string::npos) << f.detail;
      std::copy(kept.begin(), kept.end(), p.tensor.grad().data());
      ++missed;
    }
  }
  EXPECT_GT(missed, 10);
}

TEST(Doctor, FindsGradientsThatAreNoNumbers) {
  const Trained t;
  for (const float bad : {NAN, INFINITY}) {
    const nn::Parameter& p = t.model.parameters.list()[2];
    const std::vector<float> kept = p.tensor.grad().to_vector();
    p.tensor.grad().data()[1] = bad;
    const Finding f = t.compare();
    EXPECT_EQ(f.verdict, Verdict::kBad) << f.detail;
    EXPECT_NE(f.detail.find(p.name), std::string::npos) << f.detail;
    std::copy(kept.begin(), kept.end(), p.tensor.grad().data());
  }
}

TEST(Doctor, DoesNotBlameALoadOnTheKernels) {
  EXPECT_EQ(judge_products(90, 100).verdict, Verdict::kGood);
  EXPECT_EQ(judge_products(40, 100).verdict, Verdict::kOpen);
  EXPECT_EQ(judge_products(25, 100).verdict, Verdict::kOpen);
  EXPECT_EQ(judge_products(24, 100).verdict, Verdict::kBad);
  EXPECT_EQ(judge_products(0, 0).verdict, Verdict::kBad);
  const Finding faster = judge_products(120, 100);
  EXPECT_EQ(faster.verdict, Verdict::kOpen);
  EXPECT_NE(faster.detail.find("not measurable now"), std::string::npos);
}

TEST_F(Program, DoctorReportsEveryCheck) {
  const Outcome outcome = run({"doctor", "--json"});
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["checks"].size(), doctor_checks().size());
  int bad = 0, open = 0;
  for (const json& check : report["checks"]) {
    bad += check["good"] == json(false);
    open += check["good"].is_null();
    const bool judged = kTimed || check["name"] != "products";
    EXPECT_FALSE(judged && check["good"] == json(false)) << check;
  }
  EXPECT_EQ(report["open"], open);
  EXPECT_EQ(report["good"], bad == 0);
  EXPECT_EQ(outcome.status, bad ? 1 : 0) << outcome.err;
}

// 0 is a seed like any other.
TEST_F(Program, BenchTrainTakesTheSeedItIsGiven) {
  if (!kTimed) GTEST_SKIP() << "instrumented: three whole training steps would take minutes";
  const auto first_loss = [&](const std::string& seed) {
    return run_json({"bench", "train", "--preset", "tiny", "--seconds", "0.1", "--seed", seed})["loss"]["first"]
        .get<double>();
  };
  const double zero = first_loss("0");
  EXPECT_EQ(zero, first_loss("0"));
  EXPECT_NE(zero, first_loss("1"));
}

// What the program that started it took is none of its own.
TEST_F(Program, BenchTrainCountsItsOwnMemory) {
  if (!kTimed) GTEST_SKIP() << "instrumented: three whole training steps would take minutes";
  constexpr size_t kOurs = size_t{1} << 30;
  const std::vector<char> ours(kOurs, 1);
  const json j = run_json({"bench", "train", "--preset", "tiny", "--seconds", "0.1"});
  EXPECT_LT(j["peak_memory_bytes"].get<size_t>(), kOurs);
  EXPECT_GT(j["peak_memory_bytes"], j["buffers"]["peak_used_bytes"]);
}

// What bench/README.md says, and its peer does.
TEST(BenchWorkload, TrainsWithTheOptimizerOfItsPeer) {
  const Workload w = training_workload("chargpt", 1);
  EXPECT_EQ(w.optimizer.kind, train::OptimizerKind::kAdamW);
  EXPECT_EQ(w.optimizer.beta1, 0.9);
  EXPECT_EQ(w.optimizer.beta2, 0.99);
  EXPECT_EQ(w.optimizer.weight_decay, 0.1);
}

// Two products forward and four backward, as training counts them.
TEST_F(Program, BenchAttentionCountsUsefulArithmetic) {
  const json j = run_json({"bench", "attention", "--length", "64", "--tokens", "64", "--heads", "2", "--head-size",
                           "16", "--seconds", "0.01"});
  const double flops = j["gflops"].get<double>() * 1e6 * j["ms"].get<double>();
  EXPECT_NEAR(flops, 6 * 2 * 32 * (64 * 65 / 2), 1);
}

}  // namespace
}  // namespace heed::cli
