#include "heed/kernels/norm.h"

#include "heed/kernels/testing.h"

namespace heed::kernels {
namespace {

using namespace testing;

Floats joined(std::initializer_list<Floats> parts) {
  Floats all;
  for (const Floats& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

struct Case {
  int64_t T, C;
  Floats x, gain, bias, dy, dx, dgain, dbias;
  Case(int64_t rows, int64_t columns, uint64_t seed = 1)
      : T(rows),
        C(columns),
        x(random_floats(T * C, seed, 3.0f)),
        gain(random_floats(C, seed + 1)),
        bias(random_floats(C, seed + 2)),
        dy(random_floats(T * C, seed + 3)),
        dx(random_floats(T * C, seed + 4)),
        dgain(random_floats(C, seed + 5)),
        dbias(random_floats(C, seed + 6)) {
    for (int64_t i = 0; i < T * C; ++i) x[static_cast<size_t>(i)] += static_cast<float>(i % 3);
  }
};

// y, mean and rstd one after the other
Floats layer_forward(void (*f)(const LayerNormForward&), const Case& c, bool bias = true) {
  Guarded y(c.T * c.C), mean(c.T), rstd(c.T);
  f({c.T, c.C, c.x.data(), c.gain.data(), bias ? c.bias.data() : nullptr, 1e-5f, y.data(), mean.data(), rstd.data()});
  return joined({y.values(), mean.values(), rstd.values()});
}

Floats rms_forward(void (*f)(const RmsNormForward&), const Case& c) {
  Guarded y(c.T * c.C), rstd(c.T);
  f({c.T, c.C, c.x.data(), c.gain.data(), 1e-6f, y.data(), rstd.data()});
  return joined({y.values(), rstd.values()});
}

struct Wanted {
  bool dx = true, accumulate = false, dgain = true, dbias = true;
};

// dx, dgain and dbias one after the other
Floats layer_backward(void (*f)(const LayerNormBackward&), const Case& c, Wanted w = {}) {
  const Floats left = layer_forward(layer_norm_reference, c);
  const float* mean = left.data() + c.T * c.C;
  Guarded dx(c.dx), dgain(c.dgain), dbias(c.dbias);
  f({c.T, c.C, c.x.data(), c.gain.data(), mean, mean + c.T, c.dy.data(), w.dx ? dx.data() : nullptr, w.accumulate,
     w.dgain ? dgain.data() : nullptr, w.dbias ? dbias.data() : nullptr});
  return joined({dx.values(), dgain.values(), dbias.values()});
}

Floats rms_backward(void (*f)(const RmsNormBackward&), const Case& c, Wanted w = {}) {
  const Floats left = rms_forward(rms_norm_reference, c);
  Guarded dx(c.dx), dgain(c.dgain);
  f({c.T, c.C, c.x.data(), c.gain.data(), left.data() + c.T * c.C, c.dy.data(), w.dx ? dx.data() : nullptr,
     w.accumulate, w.dgain ? dgain.data() : nullptr});
  return joined({dx.values(), dgain.values()});
}

const std::vector<std::pair<int64_t, int64_t>> kShapes = {{0, 4},    {1, 1},    {3, 2},    {5, 16},  {2, 17},
                                                          {7, 31},   {65, 33},  {130, 64}, {9, 100}, {67, 128},
                                                          {10, 384}, {130, 77}, {3, 4099}};

TEST(Norm, AgreesWithItsReference) {
  on_every_target([] {
    for (const auto& [T, C] : kShapes) {
      SCOPED_TRACE(::testing::Message() << T << " x " << C);
      const Case c(T, C);
      expect_close(layer_forward(layer_norm, c), layer_forward(layer_norm_reference, c), C == 1 ? 1e-3 : 1e-5);
      expect_close(layer_forward(layer_norm, c, false), layer_forward(layer_norm_reference, c, false),
                   C == 1 ? 1e-3 : 1e-5);
      expect_close(rms_forward(rms_norm, c), rms_forward(rms_norm_reference, c), 2e-6);
      expect_close(rms_backward(rms_norm_backward, c), rms_backward(rms_norm_backward_reference, c), 2e-5);
      if (C > 1)
        expect_close(layer_backward(layer_norm_backward, c), layer_backward(layer_norm_backward_reference, c), 2e-5);
    }
  });
}

TEST(Norm, WritesOnlyWhatIsWanted) {
  const Case c(70, 37);
  for (const Wanted w :
       {Wanted{true, true, true, true}, Wanted{false, false, true, true}, Wanted{true, false, false, true},
        Wanted{true, false, true, false}, Wanted{true, true, false, false}}) {
    expect_close(layer_backward(layer_norm_backward, c, w), layer_backward(layer_norm_backward_reference, c, w), 2e-5);
    expect_close(rms_backward(rms_norm_backward, c, w), rms_backward(rms_norm_backward_reference, c, w), 2e-5);
  }
}

TEST(Norm, GivesTheNumbersOfPyTorch) {
  Case c(2, 5);
  c.x = {1, 2, -3, 0.5f, 4, 0.1f, -0.2f, 0.3f, -0.4f, 10};
  c.gain = {1, 0.5f, -1, 2, 0.25f};
  c.bias = {0, 0.1f, 0.2f, -0.3f, 1};
  c.dy = {1, -1, 0.5f, 2, 0.1f, -0.3f, 0.7f, 1, 0, -2};
  c.dgain = c.dbias = Floats(5, 0.0f);
  on_every_target([&] {
    Floats y = layer_forward(layer_norm, c);
    y.resize(10);
    expect_close(y,
                 {0.043685168f, 0.340268373f, 1.90372133f, -0.649481297f, 1.33855999f, -0.461858362f, -0.168175817f,
                  0.612196207f, -1.47202778f, 1.49910498f},
                 1e-6);
    expect_close(layer_backward(layer_norm_backward, c),
                 {0.0852235556f,  -0.569678664f, -0.571554482f, 1.39559078f,   -0.339581251f,
                  -0.0170521438f, 0.142000109f,  -0.189303249f, 0.0535247326f, 0.0108305737f,  // dx
                  0.182242677f,   -0.8559829f,   -1.26405668f,  -0.349481255f, -3.85741591f,   // dgain
                  0.7f,           -0.3f,         1.5f,          2.0f,          -1.9f},
                 1e-6);
    y = rms_forward(rms_norm, c);
    y.resize(10);
    expect_close(y,
                 {0.406557769f, 0.406557769f, 1.21967328f, 0.406557769f, 0.406557769f, 0.0223272126f, -0.0223272126f,
                  -0.0669816434f, -0.178617701f, 0.558180332f},
                 1e-6);
    expect_close(rms_backward(rms_norm_backward, c),
                 {0.358174056f, -0.300046325f, -0.0581277162f, 1.60203922f, -0.183370948f, -0.0657795817f,
                  0.0757411197f, -0.219665945f, -0.00480825361f, 0.00857026875f, 0.399859607f, -0.844373643f,
                  -0.542855024f, 0.406557769f, -4.30281973f},
                 1e-6);
  });
}

TEST(Norm, LargeOffsetsDoNotCancel) {
  // The variance is a mean of squared differences: an offset of 1000 must cost only the digits x itself has lost.
  Case plain(4, 200), moved(4, 200);
  for (size_t i = 0; i < plain.x.size(); ++i) {
    plain.x[i] = static_cast<float>(static_cast<int>(i * 37 % 64) - 32) / 16.0f;
    moved.x[i] = plain.x[i] + 1000.0f;
  }
  Floats expected = layer_forward(layer_norm_reference, plain), found = layer_forward(layer_norm, moved);
  expected.resize(plain.x.size());
  found.resize(plain.x.size());
  expect_close(found, expected, 2e-4);
}

TEST(Norm, BackwardIsTheDerivative) {
  const Case c(3, 18, 20);
  const auto first = [&](Floats all) {
    all.resize(c.x.size());
    return all;
  };
  const auto layer = [&](const Floats& at) {
    Case moved = c;
    moved.x = at;
    return first(layer_forward(layer_norm_reference, moved));
  };
  const auto rms = [&](const Floats& at) {
    Case moved = c;
    moved.x = at;
    return first(rms_forward(rms_norm_reference, moved));
  };
  expect_close(first(layer_backward(layer_norm_backward, c)), finite_differences(c.x, c.dy, layer), 1e-3);
  expect_close(first(rms_backward(rms_norm_backward, c)), finite_differences(c.x, c.dy, rms), 1e-3);
}

TEST(Norm, SameBitsEverywhere) {
  for (const auto& [T, C] : {std::pair<int64_t, int64_t>{517, 96}, {200, 333}}) {
    const Case c(T, C);
    expect_same_everywhere([&] { return layer_forward(layer_norm, c); });
    expect_same_everywhere([&] { return layer_backward(layer_norm_backward, c); });
    expect_same_everywhere([&] { return rms_forward(rms_norm, c); });
    expect_same_everywhere([&] { return rms_backward(rms_norm_backward, c); });
  }
}

TEST(Norm, ARowDoesNotDependOnItsNeighbours) {
  const Case c(50, 70);
  Case alone(1, 70);
  for (const int64_t t : {0, 3, 49}) {
    alone.gain = c.gain;
    alone.bias = c.bias;
    alone.x.assign(c.x.begin() + t * 70, c.x.begin() + (t + 1) * 70);
    alone.dy.assign(c.dy.begin() + t * 70, c.dy.begin() + (t + 1) * 70);
    const Floats all = layer_forward(layer_norm, c), one = layer_forward(layer_norm, alone);
    expect_same_bits(Floats(all.begin() + t * 70, all.begin() + (t + 1) * 70), Floats(one.begin(), one.begin() + 70));
    const Floats dall = layer_backward(layer_norm_backward, c), done = layer_backward(layer_norm_backward, alone);
    expect_same_bits(Floats(dall.begin() + t * 70, dall.begin() + (t + 1) * 70),
                     Floats(done.begin(), done.begin() + 70));
  }
}

}  // namespace
}  // namespace heed::kernels
