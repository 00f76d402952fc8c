#include "heed/cli/terminal.h"

#include <cstdlib>
#include <optional>

#include "heed/cli/terminal_test.h"

namespace heed::cli {
namespace {

// While it lives, a variable of the environment has a value, or none.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const { value ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> before_;
};

struct Surroundings {
  const char *no_color = nullptr, *term = "xterm", *colorterm = nullptr;
  unsigned short columns = 80;
};

Style style_in(const Surroundings& s) {
  const Variable no_color("NO_COLOR", s.no_color), term("TERM", s.term), colorterm("COLORTERM", s.colorterm);
  const Terminal terminal(stdout, s.columns);
  return stdout_style();
}

TEST(Terminals, ColoursAreThoseOfTheTerminal) {
  EXPECT_EQ(style_in({}).depth, Style::k256);
  EXPECT_EQ(style_in({.term = nullptr}).depth, Style::k256);
  EXPECT_EQ(style_in({.colorterm = "truecolor"}).depth, Style::kTrueColour);
  EXPECT_EQ(style_in({.colorterm = "24bit"}).depth, Style::kTrueColour);
  EXPECT_EQ(style_in({.colorterm = "yes"}).depth, Style::k256);
}

TEST(Terminals, NoColoursWhereTheyAreNotWanted) {
  EXPECT_EQ(style_in({.no_color = "1", .colorterm = "truecolor"}).depth, Style::kPlain);
  EXPECT_EQ(style_in({.no_color = "0"}).depth, Style::kPlain);  // whatever its value
  EXPECT_EQ(style_in({.no_color = ""}).depth, Style::k256);     // an empty one counts as none
  EXPECT_EQ(style_in({.term = "dumb", .colorterm = "truecolor"}).depth, Style::kPlain);
}

TEST(Terminals, TheWidthIsKnownWithoutColoursToo) {
  EXPECT_EQ(style_in({.columns = 57}).columns, 57);
  EXPECT_EQ(style_in({.no_color = "1", .columns = 57}).columns, 57);
  EXPECT_EQ(style_in({.columns = 19}).columns, Style().columns);  // too narrow to be one
}

TEST(Terminals, AFileIsPlain) {
  const Variable no_color("NO_COLOR", nullptr), term("TERM", "xterm"), colorterm("COLORTERM", "truecolor");
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO), file = ::open("/dev/null", O_WRONLY);
  ::dup2(file, STDOUT_FILENO);
  const Style style = stdout_style();
  ::dup2(before, STDOUT_FILENO);
  for (const int descriptor : {before, file}) ::close(descriptor);
  EXPECT_EQ(style.depth, Style::kPlain);
  EXPECT_EQ(style.columns, Style().columns);
}

}  // namespace
}  // namespace heed::cli
