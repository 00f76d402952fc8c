// A published model of 15 million parameters writes its published story. Skipped where it is not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "heed/io/test_shared.h"
#include "heed/models/directory.h"

namespace heed::models {
namespace {

TEST(Stories, GreedyFromNothingIsThePublishedText) {
  const std::string folder = shared_folder("HEED_MODELS", "models") + "/stories15M";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const NoGrad no_grad;
  const std::vector<int32_t> published = {1,    9038, 2501, 263,  931,   29892, 727,   471, 263,  2217,
                                          7826, 4257, 365,  2354, 29889, 2296,  18012, 304, 1708, 5377};
  for (const bool for_running : {false, true}) {
    const Decoder model = load_decoder(folder, {.for_running = for_running});
    std::vector<int32_t> ids = {model.config.tokens.start};
    while (ids.size() < published.size()) {
      const auto n = static_cast<int64_t>(ids.size());
      const Tensor logits = model.logits({ids, Spans::dense(1, n)}, {});
      const float* last = logits.data() + (n - 1) * model.config.vocabulary;
      ids.push_back(static_cast<int32_t>(std::max_element(last, last + model.config.vocabulary) - last));
    }
    EXPECT_EQ(ids, published);
    EXPECT_EQ(model.config.tokens.eos, 2);
  }
}

}  // namespace
}  // namespace heed::models
