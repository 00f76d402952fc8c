#include "heed/base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "heed/base/control_groups.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The number behind a key in a file of keys and numbers; 0 where it is missing.
int64_t value_in(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream parts(line);
    std::string name;
    int64_t value = 0;
    if (parts >> name >> value && name == key) return value;
  }
  return 0;
}

// "MemAvailable:   22382344 kB"
int64_t machine_memory() {
  const int64_t kilobytes = value_in("/proc/meminfo", "MemAvailable:");
  return kilobytes > 0 ? kilobytes * 1024 : physical_memory();
}

// The names of one version's files.
struct GroupFiles {
  const char *limit, *used, *inactive, *active;
};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file", "active_file"};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                               "total_active_file"};

// Pages of files count as used there, and are given up when others are needed. "max" is no limit.
int64_t left_in(const fs::path& group, const GroupFiles& names) {
  std::ifstream limit(group / names.limit), used(group / names.used);
  int64_t most = 0, now = 0;
  if (!(limit >> most) || !(used >> now)) return kNoLimit;
  const int64_t of_files =
      value_in(group / "memory.stat", names.inactive) + value_in(group / "memory.stat", names.active);
  return std::clamp<int64_t>(most - (now - of_files), 0, most);
}

}  // namespace

int64_t memory_in_groups(const std::string& groups, const std::string& root) {
  int64_t least = kNoLimit;
  for (const ControlGroup& group : control_groups(groups, root, "memory")) {
    least = std::min(least, left_in(group.folder, group.version == 2 ? kVersion2 : kVersion1));
  }
  return least;
}

int64_t physical_memory() { return int64_t{::sysconf(_SC_PHYS_PAGES)} * int64_t{::sysconf(_SC_PAGESIZE)}; }

// getrusage() would count what the program was that became this one, such as a test that started it.
int64_t peak_memory() { return value_in("/proc/self/status", "VmHWM:") * 1024; }

int64_t available_memory() {
  return std::min(machine_memory(), memory_in_groups(own_control_groups(), kControlGroups));
}

}  // namespace heed
