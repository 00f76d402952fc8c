// What `heed doctor` proves on this machine, each in a second or two.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heed::cli {

struct Finding {
  bool good = false;
  std::string detail;  // what was measured, in plain words
};

struct Check {
  std::string name;   // for --json
  std::string claim;  // what is proved
  std::function<Finding()> run;
};
const std::vector<Check>& doctor_checks();

}  // namespace heed::cli
