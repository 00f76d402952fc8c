#include "heed/base/control_groups.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace heed {
namespace {

// "cpu,cpuacct" has "cpu".
bool has(const std::string& controllers, const std::string& wanted) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& groups, const std::string& root,
                                         const std::string& controller) {
  namespace fs = std::filesystem;
  std::vector<ControlGroup> all;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {  // "0::/a/b" or "4:memory:/a/b"
    const size_t colon = line.find(':'), second = line.find(':', colon + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(colon + 1, second - colon - 1);
    const bool two = controllers.empty();
    if (!two && !has(controllers, controller)) continue;
    const fs::path top = two ? fs::path(root) : fs::path(root) / controller;
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    for (bool more = true; more; group = group.parent_path()) {
      more = !group.empty();
      all.push_back({top / group, two ? 2 : 1});
    }
  }
  return all;
}

std::string own_control_groups() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace heed
