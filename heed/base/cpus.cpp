#include "heed/base/cpus.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>
#include <thread>

#include "heed/base/control_groups.h"

namespace heed {
namespace {

// CPUs' worth of time that a group grants, rounded up. No limit is "max 100000", or -1.
int granted_by(const ControlGroup& group) {
  double quota = 0, period = 0;
  if (group.version == 2) {
    std::ifstream file(group.folder / "cpu.max");
    file >> quota >> period;
  } else {
    std::ifstream(group.folder / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group.folder / "cpu.cfs_period_us") >> period;
  }
  if (!(quota > 0 && period > 0)) return INT_MAX;
  return static_cast<int>(std::clamp(std::ceil(quota / period), 1.0, 1e6));
}

}  // namespace

int cpus_in_groups(const std::string& groups, const std::string& root) {
  int least = INT_MAX;
  for (const ControlGroup& group : control_groups(groups, root, "cpu")) least = std::min(least, granted_by(group));
  return least;
}

int available_cpus() {
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  const int cpus = known ? CPU_COUNT(&allowed) : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cpus, 1, cpus_in_groups(own_control_groups(), kControlGroups));
}

}  // namespace heed
