// The live line of a training, on a terminal that a test made.
#include "heed/cli/train_progress.h"

#include <chrono>
#include <thread>

#include "heed/cli/terminal_test.h"

namespace heed::cli {
namespace {

train::StepReport report(int64_t step) {
  train::StepReport r;
  r.step = step, r.epoch = 1, r.batch = 1, r.batches = 4;
  r.loss = 2.5, r.perplexity = 12, r.learning_rate = 1e-3, r.tokens_per_second = 1000, r.seconds_left = 90;
  return r;
}

void until_due() { std::this_thread::sleep_for(std::chrono::milliseconds(250)); }

TEST(TrainProgress, OnATerminalOneLineIsWrittenOverAndCut) {
  const std::string whole = "epoch 1 25%  step 1  loss 2.500  ppl 12.00  lr 1.00e-03  1000 tok/s  1 min 30 s left";
  for (const unsigned short columns : {20, 200}) {
    Terminal terminal(stderr, columns);
    const Common common;
    TrainProgress progress(common);
    until_due();
    progress.on_step(report(1));
    EXPECT_EQ(terminal.seen(), "\r\033[K" + whole.substr(0, columns - 1));
    progress.on_step(report(2));  // too soon
    EXPECT_EQ(terminal.seen(), "");
    until_due();
    progress.on_progress("tokenizing", 0.5);
    // A log begins with what wrote it.
    EXPECT_TRUE(terminal.seen().starts_with("\n" + train::this_writer() + "\n\r\033[Ktokenizing 50 %"));
  }
}

TEST(TrainProgress, AMessageBeginsOnALineOfItsOwn) {
  Terminal terminal(stderr, 80);
  const Common common;
  {
    TrainProgress progress(common);
    progress.on_message("ready");
    EXPECT_EQ(terminal.seen(), train::this_writer() + "\nheed: ready\n");
    until_due();
    progress.on_step(report(1));
    terminal.seen();
    progress.on_message("saved");
    EXPECT_EQ(terminal.seen(), "\nheed: saved\n");
    until_due();
    progress.on_step(report(2));
    terminal.seen();
    train::ValidationReport valid;
    valid.step = 2, valid.epoch = 1, valid.loss = 1, valid.perplexity = 2.72;
    progress.on_validation(valid);
    const std::string table = terminal.seen();
    EXPECT_TRUE(table.starts_with("\n    step  epoch")) << table;
    EXPECT_TRUE(table.ends_with("\n")) << table;
    until_due();
    progress.on_step(report(3));
    terminal.seen();
  }
  EXPECT_EQ(terminal.seen(), "\n");  // what follows the run does not stand behind it
}

}  // namespace
}  // namespace heed::cli
