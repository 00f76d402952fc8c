// The live line of a training, on a terminal that a test made.
#include "heed/cli/train_progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace heed::cli {
namespace {

// While it lives, standard error is a terminal of so many columns.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) {
    termios raw{};
    cfmakeraw(&raw);  // what is written is what is read
    winsize size{};
    size.ws_row = 24, size.ws_col = columns;
    EXPECT_EQ(::openpty(&screen_, &keyboard_, nullptr, &raw, &size), 0);
    ::fcntl(screen_, F_SETFL, O_NONBLOCK);
    std::fflush(stderr);
    before_ = ::dup(2);
    ::dup2(keyboard_, 2);
  }
  ~Terminal() {
    std::fflush(stderr);
    ::dup2(before_, 2);
    for (const int descriptor : {before_, screen_, keyboard_}) ::close(descriptor);
  }
  // What was written since the last call.
  std::string seen() {
    std::fflush(stderr);
    std::string text(4096, '\0');
    const ssize_t size = ::read(screen_, text.data(), text.size());
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
    return text;
  }

 private:
  int screen_ = -1, keyboard_ = -1, before_ = -1;
};

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
    Terminal terminal(columns);
    const Common common;
    TrainProgress progress(common);
    until_due();
    progress.on_step(report(1));
    EXPECT_EQ(terminal.seen(), "\r\033[K" + whole.substr(0, columns - 1));
    progress.on_step(report(2));  // too soon
    EXPECT_EQ(terminal.seen(), "");
    until_due();
    progress.on_progress("tokenizing", 0.5);
    EXPECT_TRUE(terminal.seen().starts_with("\r\033[Ktokenizing 50 %"));
  }
}

TEST(TrainProgress, AMessageBeginsOnALineOfItsOwn) {
  Terminal terminal(80);
  const Common common;
  {
    TrainProgress progress(common);
    progress.on_message("ready");
    EXPECT_EQ(terminal.seen(), "heed: ready\n");
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
