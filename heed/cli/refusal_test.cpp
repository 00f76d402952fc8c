// What the program refuses: one line, the right status, nothing written.
#include <sys/resource.h>

#include "heed/cli/program_test.h"

namespace heed::cli {
namespace {

TEST_F(Program, RefusesWrongRequestsInOneLine) {
  const std::string missing = (folder_ / "missing.txt").string();
  expect_refused({"shwo"}, 2, "did you mean 'show'?");
  expect_refused({"zzzzzzzz"}, 2, "unknown command 'zzzzzzzz'");
  expect_refused({"show", "attenton"}, 2, "did you mean 'attention'?");
  expect_refused({"show", "positions", "--lenght", "3"}, 2, "did you mean '--length'?");
  expect_refused({"show", "positions", "--jso"}, 2, "did you mean '--json'?");
  expect_refused({"show", "positions", "--kind", "sinusodal"}, 2, "did you mean 'sinusoidal'?");
  expect_refused({"show", "schedule", "--kind", "cosin"}, 2, "did you mean 'cosine'?");
  expect_refused({"show", "params", "--preset", "bass"}, 2, "did you mean 'base'?");
  expect_refused({"show", "attention", "--mask", "casual"}, 2, "did you mean 'causal'?");
  expect_refused({"show", "attention", "positions"}, 2, "unexpected argument 'positions'");
  expect_refused({"show", "mask", "extra"}, 2, "unexpected argument 'extra'");
  expect_refused({"show", "positions", "--length"}, 2, "--length");
  expect_refused({"show", "heads", "--d-model", "128", "--heads", "5"}, 2, "128 features by 5 heads");
  expect_refused({"show", "shapes", "--d-model", "128", "--heads", "5"}, 2, "128 features by 5 heads");
  expect_refused({"show", "params", "--d-model", "128", "--heads", "5"}, 2, "128 features by 5 heads");
  expect_refused({"show", "attention", "--heads", "3"}, 2, "by 3 heads");
  expect_refused({"--threads", "0", "show", "mask"}, 2, "--threads '0'");
  expect_refused({"--threads", "x", "show", "mask"}, 2, "--threads 'x'");
  expect_refused({"show", "mask", "--logits"}, 2, "unknown flag '--logits': see --help");
  expect_refused({"show", "mask", "--json=5"}, 2, "--json takes no value");
  expect_refused({"--quiet=no", "show", "mask"}, 2, "--quiet takes no value");
  expect_refused({"show", "attention", "--no-scale=0"}, 2, "--no-scale takes no value");
}

TEST_F(Program, RefusesInstructionsItDoesNotKnow) {
  const char* before = std::getenv("HEED_MAX_ISA");
  const std::string kept = before ? before : "";
  setenv("HEED_MAX_ISA", "foo", 1);
  for (const char* show : {"softmax", "mask", "params"}) {
    expect_refused({"show", show}, 2, "HEED_MAX_ISA is 'foo': expected baseline, avx2 or avx512");
  }
  before ? setenv("HEED_MAX_ISA", kept.c_str(), 1) : unsetenv("HEED_MAX_ISA");
}

TEST_F(Program, RefusesWrongMatricesInOneLine) {
  const auto attention = [&](const std::string& q, const std::string& part, int status = 2) {
    expect_refused({"show", "attention", "--q", q}, status, part);
  };
  attention("1 0; 1", "row 2 has 1 numbers: expected 2");
  attention("", "empty matrix");
  attention(" ; ", "empty matrix");
  attention("1 0;; 0 1", "row 2 is empty");
  attention("1 a; 0 1", "row 1, column 2: 'a' is no number");
  attention("abc", "expected rows of numbers");
  attention("0x10 1", "'0x10' is no number");
  std::ofstream(folder_ / "binary.txt") << "\x1b[2J\x9b\xff 1\n";
  attention((folder_ / "binary.txt").string(), "'\\x1b[2J\\x9b\\xff' is no number", 1);
  attention("1 nan", "'nan': expected a finite number");
  attention("inf 1", "'inf': expected a finite number");
  attention("1e999 1", "expected a finite number");
  attention("1e300 1", "expected a number within");
  attention("1e38 1; 1e38 2", "overflows");
  attention((folder_ / "missing.txt").string(), "No such file", 1);
  attention(folder_.string(), "Is a directory", 1);
  std::ofstream(folder_ / "ragged.txt") << "1 0\n1\n";
  attention((folder_ / "ragged.txt").string(), "row 2 has 1 numbers", 1);
  std::ofstream(folder_ / "empty.txt") << "";
  attention((folder_ / "empty.txt").string(), "empty matrix", 1);
  expect_refused({"show", "attention", "--q", "1 0", "--k", "1 0; 0 1", "--v", "1; 2; 3"}, 2,
                 "K has 2 rows and V has 3");
  expect_refused({"show", "attention", "--q", "1 0", "--k", "1 0 0"}, 2, "Q has 2 columns and K has 3");
  expect_refused({"show", "attention", "--k", "1 0"}, 2, "--q is missing");
  expect_refused({"show", "attention", "--mask", "1 0; 0 1"}, 2, "expected (3, 3)");
  expect_refused({"show", "attention", "--mask", "1 0 2; 0 1 1; 1 1 1"}, 2, "has 2: expected 1 (seen) or 0 (hidden)");
  expect_refused({"show", "attention", "--labels", "a b"}, 2, "--labels has 2 words");
  expect_refused({"show", "attention", "--labels", std::string(60000, 'W') + " b c"}, 2,
                 "--labels has a word of 60000 bytes: expected at most 256");
  // Weights times values are summed before they are divided.
  expect_refused({"show", "attention", "--q", "0", "--k", "0;0;0", "--v", "3e38;3e38;-3e38"}, 2,
                 "V has 3e+38: expected a number within +-1.134e+38 with 3 keys");
}

TEST_F(Program, RefusesWrongNumbersInOneLine) {
  for (const char* wrong : {"0", "-3", "99999999999999999999", "1000000", "x", "nan", "1.5", ""}) {
    expect_refused({"show", "positions", "--length", wrong}, 2, "expected a whole number from 1 to 1024");
  }
  expect_refused({"show", "positions", "--length", "1000", "--dim", "8000"}, 2, "expected at most");
  expect_refused({"show", "positions", "--kind", "rotary", "--dim", "7"}, 2, "even");
  expect_refused({"show", "positions", "--kind", "t5", "--max-distance", "4"}, 2, "max_distance");
  expect_refused({"show", "positions", "--heads", "4"}, 2, "--heads has no say in --kind sinusoidal");
  expect_refused({"show", "positions", "--kind", "alibi", "--buckets", "8"}, 2, "--buckets has no say in --kind alibi");
  expect_refused({"show", "positions", "--kind", "learned", "--shift", "2"}, 2, "--shift has no say in --kind learned");
  expect_refused({"show", "schedule", "--peak", "1e-3"}, 2, "--peak has no say in --kind paper");
  expect_refused({"show", "schedule", "--kind", "cosine", "--d-model", "64"}, 2,
                 "--d-model has no say in --kind cosine");
  expect_refused({"show", "schedule", "--kind", "constant", "--minimum", "0"}, 2, "--minimum has no say in");
  expect_refused({"show", "schedule", "--warmup", "-1"}, 2, "--warmup");
  expect_refused({"show", "schedule", "--kind", "cosine", "--warmup", "10", "--steps", "5"}, 2,
                 "more steps than warm-up");
  expect_refused({"show", "schedule", "--kind", "cosine", "--peak", "inf"}, 2, "expected a finite number");
  expect_refused({"show", "heads", "--heads", "0"}, 2, "--heads '0'");
  expect_refused({"show", "shapes", "--batch", "999999999"}, 2, "--batch");
  expect_refused({"show", "mask", "--lengths", "3,x"}, 2, "--lengths 'x'");
  expect_refused({"show", "mask", "--length", "2", "--lengths", "3"}, 2, "a sequence of 3");
  expect_refused({"show", "softmax", "1", "two"}, 2, "'two' is no number");
  expect_refused({"show", "softmax", "1", "inf"}, 2, "expected a finite number");
  expect_refused({"show", "softmax", "1", "-inf"}, 2, "expected a finite number");
  expect_refused({"show", "softmax", "1", "--temperature", "0"}, 2, "--temperature '0'");
  expect_refused({"show", "loss", "0"}, 2, "expected a probability");
  expect_refused({"show", "loss", "1.5"}, 2, "expected a probability");
  expect_refused({"show", "loss", "--smoothing", "2"}, 2, "--smoothing '2'");
  expect_refused({"show", "adam", "--gradients", "1 x"}, 2, "'x' is no number");
  expect_refused({"show", "adam", "--gradients", "1 2; 3 4"}, 2, "is (2, 2): expected one row");
  expect_refused({"show", "adam", "--gradients", "1 2", "--steps", "5"}, 2, "--steps beside --gradients");
  expect_refused({"show", "adam", "--lr", "-1"}, 2, "--lr '-1'");
  for (const char* picture : {"a.svg", "a.png"}) {
    expect_refused({"show", "adam", "--lr", "1000", "--weight-decay", "1", "--steps", "200", "--out", picture}, 2,
                   "[show adam] the numbers leave the range of floats at step 8: expected a smaller --lr");
  }
  expect_refused({"show", "params", "--layers", "100000"}, 2, "--layers");
}

TEST_F(Program, RefusesWrongPlacesForPictures) {
  for (const auto& show : kShows) {
    expect_refused({"show", show[1], "--out", "picture.gif"}, 2, ".svg or .png");
    expect_refused({"show", show[1], "--out", "none/picture.svg"}, 1, "there is no folder 'none'");
  }
  expect_refused({"show", "mask", "--out", ""}, 2, "--out");
  expect_refused({"show", "mask", "--out", ".png"}, 2, "expected a name before the ending, such as picture.png");
  expect_refused({"show", "mask", "--out", "none/.svg"}, 2, "such as picture.svg");
  fs::create_directory(folder_ / "taken.svg");
  expect_refused({"show", "mask", "--out", (folder_ / "taken.svg").string()}, 1, "taken.svg");
}

TEST_F(Program, AFullDiskIsOneLineAndStatusOne) {
  for (const char* show : {"attention", "mask"}) {
    const Outcome outcome = run({"show", show}, "/dev/full");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, "heed: [stdout] cannot write: No space left on device\n");
  }
}

// No picture is left beside a text that could not be told, and no half of one on a full disk.
TEST_F(Program, AFullDiskLeavesNoPicture) {
  const Outcome untold = run({"show", "attention", "--out", "a.svg"}, "/dev/full");
  EXPECT_EQ(untold.status, 1);
  EXPECT_EQ(untold.err, "heed: [stdout] cannot write: No space left on device\n");
  EXPECT_TRUE(fs::is_empty(folder_ / "work"));
  for (const char* picture : {"a.svg", "a.png"}) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit most{1000, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &most), 0);
    const Outcome full = run({"show", "attention", "--out", picture}, "/dev/null");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(full.status, 1) << picture;
    EXPECT_EQ(std::count(full.err.begin(), full.err.end(), '\n'), 1) << full.err;
    EXPECT_NE(full.err.find("cannot write"), std::string::npos) << full.err;
    EXPECT_TRUE(fs::is_empty(folder_ / "work")) << picture;
  }
}

TEST_F(Program, RefusesBenchmarksThatDoNotFit) {
  expect_refused({"bench", "attention", "--tokens", "1048576", "--heads", "256", "--head-size", "1024"}, 2,
                 "[bench attention] --length 64 --tokens 1048576 --heads 256 --head-size 1024 would take 8194.0 GiB");
  expect_refused({"bench", "attention", "--length", "131072", "--heads", "256", "--head-size", "1024"}, 2,
                 "--length 131072");
  expect_refused({"bench", "attention", "--length", "64", "--tokens", "63"}, 2,
                 "[bench attention] --tokens 63: expected at least one sequence of 64");
  expect_refused({"bench", "attention", "--heads", "0"}, 2, "--heads '0'");
  expect_refused({"bench", "attention", "--length", "131073"}, 2, "--length '131073'");
  expect_refused({"bench", "product", "--m", "1048576", "--n", "1048576"}, 2,
                 "[bench product] --m 1048576 --n 1048576 --k 512 would take 4100.0 GiB");
  expect_refused({"bench", "product", "--m", "1", "--n", "1048576", "--k", "1048576"}, 2, "--k 1048576");
  expect_refused({"bench", "product", "--m", "0"}, 2, "--m '0'");
  expect_refused({"bench", "product", "--k", "many"}, 2, "--k 'many'");
  expect_refused({"bench", "generate", "--batch", "4096", "--prompt", "900", "--tokens", "100"}, 2,
                 "[bench generate] --batch 4096 --prompt 900 --tokens 100 would take 281.2 GiB");
  expect_refused({"bench", "translate", "--batch", "4096", "--source", "4096", "--tokens", "4096", "--beam", "64"}, 2,
                 "[bench translate] --batch 4096 --source 4096 --tokens 4096 --beam 64 would take 24960.0 GiB");
}

TEST_F(Program, BenchmarksRefuseFlagsWithoutASay) {
  expect_refused({"bench", "product", "--n", "7", "--k", "3"}, 2,
                 "[bench product] --n has no say in the list of shapes");
  for (const char* kind : {"generate", "translate"}) {
    expect_refused({"bench", kind, "--preset", kind[0] == 'g' ? "gpt2" : "base", "--model", "m"}, 2,
                   std::string("[bench ") + kind + "] --preset has no say in --model");
  }
}

TEST_F(Program, MemoryThatIsNotThereIsOneLineAndStatusOne) {
  if (!kTimed) GTEST_SKIP() << "sanitizers take address space of their own";
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit most{static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + (int64_t{300} << 20)), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &most), 0);
  const Outcome outcome =
      run({"bench", "product", "--m", "1", "--n", "16384", "--k", "16384", "--threads", "1", "--json"});
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("[memory] cannot allocate"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(Program, CountsOfFlagsAreToldInPlainWords) {
  expect_refused({"show", "softmax", "1", "2", "--temperature"}, 2, "--temperature has no value, expected one");
  expect_refused({"doctor", "--threads", "1", "--threads", "2"}, 2, "--threads is given 2 times, expected once");
  expect_refused({"show", "--", "softmax"}, 2, "unexpected '--' before 'softmax'");
  expect_refused({""}, 2, "unknown command ''");
  expect_refused({"show", ""}, 2, "unknown kind ''");
  expect_refused({"show", "attention", "--labels", "a \xff b"}, 2, "--labels has '\\xff': expected words in UTF-8");
}

TEST_F(Program, HelpAndVersionAreWordsToo) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "show", "softmax"}).out, run({"show", "softmax", "--help"}).out);
  EXPECT_EQ(run({"version"}).out, run({"--version"}).out);
}

}  // namespace
}  // namespace heed::cli
