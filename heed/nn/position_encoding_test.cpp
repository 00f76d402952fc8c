#include "heed/nn/position_encoding.h"

#include <thread>

#include "heed/nn/positions.h"
#include "heed/tensor/testing.h"

namespace heed::nn {
namespace {

StackConfig stack_with(PositionKind kind) {
  StackConfig c;
  c.d_model = 8;
  c.heads = 2;
  c.positions.kind = kind;
  return c;
}

// Threads that run one model ask for ever longer tables at the same time.
template <class Ask>
void from_many_threads(Ask ask) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&ask] {
      for (int64_t length = 1; length < 3000; length += 61) ask(length);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PositionEncoding, TablesGrowUnderSeveralThreads) {
  Parameters parameters;
  const Scope scope(parameters);
  const PositionEncoding sinusoids(scope / "a", stack_with(PositionKind::kSinusoidal), false);
  const PositionEncoding rotary(scope / "b", stack_with(PositionKind::kRotary), false);
  const PositionEncoding t5(scope / "c", stack_with(PositionKind::kT5), true);
  parameters.allocate(1);
  std::vector<float> expected(3000 * 8);
  sinusoidal(expected.data(), 3000, 8);
  std::atomic<int> wrong{0};
  from_many_threads([&](int64_t length) {
    const NoGrad no_grad;
    const Tensor table = sinusoids.table(length);
    wrong += table.rows() < length || !std::equal(expected.begin(), expected.begin() + length * 8, table.data());
    const Tensor turned = rotary.rotate(Tensor::full({length, 8}, 1), 2, Spans::dense(1, length));
    wrong += turned.data()[0] != 1;  // position 0 turns nothing
    AttentionArgs args;
    args.q_spans = args.k_spans = Spans::dense(1, length);
    t5.bias_scores(args);
    wrong += args.relative.rows() != 1 - 2 * args.relative_first;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace heed::nn
