#include "heed/kernels/embedding.h"

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

std::vector<int32_t> random_ids(int64_t T, int64_t V, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(T));
  // Skewed as words are: small numbers come more often.
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(1 + random.below(static_cast<uint64_t>(V))));
  return ids;
}

struct Shape {
  int64_t T, C, V;
};
const std::vector<Shape> kShapes = {{0, 4, 3},    {1, 1, 1},     {5, 3, 2},     {40, 16, 9},
                                    {33, 17, 50}, {200, 64, 30}, {300, 100, 7}, {64, 130, 5000}};

TEST(Embedding, AgreesWithItsReference) {
  on_every_target([] {
    for (const Shape& s : kShapes) {
      const std::vector<int32_t> ids = random_ids(s.T, s.V, 1);
      const int64_t P = 11;
      const Floats table = random_floats(s.V * s.C, 2), positions = random_floats(P * s.C, 3);
      std::vector<uint32_t> position;
      for (int64_t t = 0; t < s.T; ++t) position.push_back(static_cast<uint32_t>(t * 5 % P));
      Embedding e{s.T, s.C, s.V, {table.data(), s.C, s.C}, ids.data()};
      for (const float scale : {1.0f, 22.6274f}) {
        e.scale = scale;
        for (const bool with_positions : {false, true}) {
          e.positions = with_positions ? positions.data() : nullptr;
          e.position_of_row = with_positions ? position.data() : nullptr;
          Guarded y(s.T * s.C), expected(s.T * s.C);
          embedding(y.data(), e);
          embedding_reference(expected.data(), e);
          expect_close(y.values(), expected.values(), 1e-6);
        }
      }
    }
  });
}

Floats backward(decltype(embedding_backward) f, const Floats& before, const Floats& dy, const std::vector<int32_t>& ids,
                const Shape& s) {
  Guarded dtable(before);
  f(dtable.data(), dy.data(), ids.data(), s.T, s.C, s.V, 0.7f);
  return dtable.values();
}

TEST(Embedding, BackwardAgreesWithItsReference) {
  on_every_target([] {
    for (const Shape& s : kShapes) {
      const std::vector<int32_t> ids = random_ids(s.T, s.V, 4);
      const Floats dy = random_floats(s.T * s.C, 5), before = random_floats(s.V * s.C, 6);
      expect_close(backward(embedding_backward, before, dy, ids, s),
                   backward(embedding_backward_reference, before, dy, ids, s), 5e-6);
    }
  });
}

TEST(Embedding, TokensAreAddedInOrder) {
  // In float, 1e8 + 1 - 1e8 is 0 but 1e8 - 1e8 + 1 is 1: the order shows.
  const std::vector<int32_t> ids = {1, 0, 1, 1};
  Floats dtable(2, 0.0f);
  const Floats first = {1e8f, 0, 1, -1e8f}, second = {1e8f, 0, -1e8f, 1};
  embedding_backward(dtable.data(), first.data(), ids.data(), 4, 1, 2, 1.0f);
  EXPECT_EQ(dtable[1], 0.0f);
  embedding_backward(dtable.data(), second.data(), ids.data(), 4, 1, 2, 1.0f);
  EXPECT_EQ(dtable[1], 1.0f);
}

TEST(Embedding, SameBitsEverywhere) {
  const Shape s{3000, 77, 400};
  const std::vector<int32_t> ids = random_ids(s.T, s.V, 7);
  const Floats dy = random_floats(s.T * s.C, 8), before = random_floats(s.V * s.C, 9);
  expect_same_everywhere([&] { return backward(embedding_backward, before, dy, ids, s); });
  expect_same_everywhere([&] {
    Floats y(dy.size());
    embedding(y.data(), {s.T, s.C, s.V, {before.data(), s.C, s.C}, ids.data(), 1.3f});
    return y;
  });
}

}  // namespace
}  // namespace heed::kernels
