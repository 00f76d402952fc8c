#include "heed/nn/trace.h"

#include "heed/nn/attention.h"
#include "heed/tensor/testing.h"

namespace heed::nn {
namespace {

using heed::testing::expect_values;
using heed::testing::message_of;
using heed::testing::random_tensor;

constexpr int64_t kHeads = 2, kSize = 3;

// An attention as a layer leaves it behind.
AttentionRecord attend(const std::vector<int64_t>& queries, const std::vector<int64_t>& keys, uint64_t seed,
                       float dropout = 0) {
  const NoGrad no_grad;
  AttentionRecord r;
  r.args.heads = r.args.kv_heads = kHeads;
  r.args.q_spans = Spans(queries);
  r.args.k_spans = Spans(keys);
  r.args.dropout = {dropout, 5};
  r.q = random_tensor({r.args.q_spans.tokens(), kHeads * kSize}, seed);
  r.k = random_tensor({r.args.k_spans.tokens(), kHeads * kSize}, seed + 1);
  r.v = random_tensor({r.args.k_spans.tokens(), kHeads * kSize}, seed + 2);
  r.merged = r.output = attention(r.q, r.k, r.v, r.args);
  return r;
}

TEST(Trace, RaggedKeysOfEqualQueriesAreRagged) {
  Trace trace;
  trace.attention("cross", attend({3, 3}, {1, 40}, 1));
  for (const std::string name : {"cross.weights", "cross.scores"}) {
    EXPECT_EQ(trace.shape(name).str(), "(2,3,40)");
    EXPECT_EQ(message_of([&] { trace.tensor(name); }),
              "[trace] '" + name + "' of a ragged batch: ask for one of its 2 sequences");
    EXPECT_EQ(trace.tensor(name, 0).shape().str(), "(2,3,1)");
    EXPECT_EQ(trace.tensor(name, 1).shape().str(), "(2,3,40)");
  }
  EXPECT_EQ(trace.tensor("cross.q").shape().str(), "(2,3,6)");
  trace.attention("even", attend({3, 3}, {4, 4}, 1));
  EXPECT_EQ(trace.tensor("even.weights").shape().str(), "(2,2,3,4)");
}

TEST(Trace, ABatchWithoutSequencesHasNoNumbers) {
  Trace trace;
  trace.attention("none", attend({}, {}, 1));
  EXPECT_EQ(message_of([&] { trace.tensor("none.q"); }), "[trace] 'none.q' of a batch without sequences");
  EXPECT_EQ(message_of([&] { trace.tensor("none.weights"); }), "[trace] 'none.weights' of a batch without sequences");
}

TEST(Trace, ASecondRunReplacesTheFirst) {
  const AttentionRecord first = attend({3}, {3}, 1), second = attend({4}, {4}, 9);
  Trace twice, once;
  twice.attention("a", first);
  twice.rows("b", first.q, first.args.q_spans);
  twice.attention("a", second);
  twice.rows("b", second.q, second.args.q_spans);
  once.attention("a", second);
  once.rows("b", second.q, second.args.q_spans);
  EXPECT_EQ(twice.names(), once.names());
  for (const std::string& name : once.names()) {
    EXPECT_EQ(twice.shape(name).str(), once.shape(name).str()) << name;
    EXPECT_EQ(twice.tensor(name).to_vector(), once.tensor(name).to_vector()) << name;
  }
}

// A step over cached keys leaves behind what the whole run does, of its own queries; later steps change nothing of it.
TEST(Trace, ACachedStepIsTheEndOfTheWholeRun) {
  const NoGrad no_grad;
  StackConfig config;
  config.d_model = kHeads * kSize;
  config.heads = kHeads;
  Parameters parameters;
  const MultiHeadAttention layer(Scope(parameters, "a"), config);
  parameters.allocate(1);
  const std::vector<int64_t> lengths{4, 6};
  const Tensor x = random_tensor({10, config.d_model}, 2);
  Trace whole, step;
  layer.self(x, {Spans(lengths), Spans(lengths), true}, {}, {.trace = &whole});

  // The starts of both sequences, the second one's first, and then the last token of each.
  CachePool pool(1, config.d_model);
  const auto run = [&](const CacheRows& rows, const std::vector<int32_t>& tokens, std::vector<int64_t> each,
                       Trace* trace) {
    const std::vector<LayerCache> layers = pool.layers(rows);
    layer.self(select_rows(x, tokens), {Spans(each), {}, true, layers.data()}, {}, {.trace = trace});
  };
  const auto list = [](const std::vector<int32_t>& rows) { return std::make_shared<const std::vector<int32_t>>(rows); };
  EXPECT_EQ(pool.take(12).back(), 11);
  run({Spans(std::vector<int64_t>{5}), list({0, 1, 2, 3, 4}), {0, 1, 2, 3, 4}}, {4, 5, 6, 7, 8}, {5}, nullptr);
  run({Spans(std::vector<int64_t>{3}), list({7, 6, 5}), {7, 6, 5}}, {0, 1, 2}, {3}, nullptr);
  run({Spans(lengths), list({7, 6, 5, 11, 0, 1, 2, 3, 4, 10}), {11, 10}}, {3, 9}, {1, 1}, &step);
  run({Spans(std::vector<int64_t>{1}), list({0}), {0}}, {0}, {1}, nullptr);

  EXPECT_EQ(step.names(), whole.names());
  EXPECT_EQ(step.shape("a.k").str(), "(10,6)");
  for (int64_t s = 0; s < 2; ++s) {
    for (const std::string name : {"a.k", "a.v", "a.k_heads", "a.v_heads"}) {
      EXPECT_EQ(step.tensor(name, s).to_vector(), whole.tensor(name, s).to_vector()) << name;
    }
    const std::vector<int32_t> last{static_cast<int32_t>(lengths[static_cast<size_t>(s)]) - 1};
    for (const std::string name : {"a.q", "a.merged", "a.output"}) {
      EXPECT_EQ(step.tensor(name, s).to_vector(), select_rows(whole.tensor(name, s), last).to_vector()) << name;
    }
    for (const std::string name : {"a.q_heads", "a.scores", "a.weights", "a.head_output"}) {
      const Tensor all = transpose(whole.tensor(name, s), 0, 1), now = transpose(step.tensor(name, s), 0, 1);
      const Tensor rows = reshape(all, {all.size(0), all.numel() / all.size(0)});
      EXPECT_EQ(now.to_vector(), select_rows(rows, last).to_vector()) << name;
    }
  }
}

TEST(Trace, KeepsOnlyWhatIsWanted) {
  const AttentionRecord r = attend({3}, {3}, 1);
  Trace elsewhere({"other"}), values({"a.v"});
  elsewhere.attention("a", r);
  values.attention("a", r);
  EXPECT_EQ(values.names(), (std::vector<std::string>{"a.v", "a.v_heads"}));
  EXPECT_TRUE(r.q.node()->values.unique()) << "a trace holds on to numbers that nobody can ask it for";
  EXPECT_FALSE(r.v.node()->values.unique());
}

TEST(Trace, WeightsAreThoseThatMetTheValues) {
  Trace trace;
  trace.attention("a", attend({20}, {30}, 1, 0.4f));
  const Tensor weights = trace.tensor("a.weights", 0);
  expect_values(matmul(weights, trace.tensor("a.v_heads", 0)), trace.tensor("a.head_output", 0).to_vector(), 1e-5f);
  const std::vector<float> w = weights.to_vector();
  EXPECT_GT(std::count(w.begin(), w.end(), 0.0f), 300);
  EXPECT_LT(std::count(w.begin(), w.end(), 0.0f), 700);
}

}  // namespace
}  // namespace heed::nn
